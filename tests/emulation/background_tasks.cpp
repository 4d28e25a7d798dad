// Tasks in the background: all of them are done, each once, and those added before settle() when it returns,
// also while others add more; threads begin without the program's signals.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <vector>

#include "monitor/background.h"

namespace {

constexpr int kTasks = 3000;

bool takes_signals() {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return !sigismember(&now, SIGTERM) || !sigismember(&now, SIGUSR1);
}

int fail(const char* what) {
  std::puts(what);
  return 1;
}

}  // namespace

int main() {
  std::vector<std::atomic<int>> done(kTasks);
  std::atomic<int> with_signals{0}, inside{0};
  std::atomic<bool> stop{false};
  const std::thread::id self = std::this_thread::get_id();
  {
    cuvein::Background background(3);
    background.settle();  // of nothing
    std::thread other([&] {
      while (!stop) {
        background.add([] { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
    bool late = false;
    for (int i = 0; i < kTasks; ++i) {
      background.add([&, i] {
        if (std::this_thread::get_id() == self) {
          ++inside;  // too many were waiting
        } else if (takes_signals()) {
          ++with_signals;
        }
        if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
        ++done[static_cast<size_t>(i)];
      });
      if (i % 1000 != 999) continue;
      background.settle();
      for (int j = 0; j <= i; ++j) late = late || done[static_cast<size_t>(j)] == 0;
    }
    stop = true;
    other.join();
    if (late) return fail("settle() came back before a task was done");
    for (int i = 0; i < 100; ++i)
      background.add([&] { std::this_thread::sleep_for(std::chrono::microseconds(10)); });
  }
  for (const std::atomic<int>& count : done)
    if (count != 1) return fail("a task was not done once");
  if (with_signals != 0) return fail("a thread takes the program's signals");
  if (inside == 0) return fail("however many wait, more are taken");
  std::puts("done");
  return 0;
}
