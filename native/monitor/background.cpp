#include "monitor/background.h"

#include <signal.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace cuvein {
namespace {

constexpr std::chrono::milliseconds kDoze{1};
constexpr int kDozes = 20;
constexpr size_t kManyWaiting = 32;

// The program's signals are for the program's threads.
template <typename Start>
bool start_without_signals(Start start) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    start();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

Background::~Background() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Background::add(Task task) {
  if (!hand_over(&task)) task();
}

bool Background::hand_over(Task* task) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.size() >= most_waiting_) return false;
    const bool needed = needs_thread();
    if (needed && threads_.size() < most_threads_ && waiting_.size() + running_.size() >= threads_.size() &&
        !start_without_signals([this] { threads_.emplace_back([this] { run(); }); }) && threads_.empty())
      return false;
    waiting_.push_back(std::move(*task));
    ++added_;
    if (!needed) return true;
  }
  work_.notify_one();
  return true;
}

// When one more task waits. Those that run may take long, so only who dozes is relied upon.
bool Background::needs_thread() const {
  return dozing_ == 0 || waiting_.size() % kManyWaiting == kManyWaiting - 1;
}

uint64_t Background::oldest() const {
  return running_.empty() ? added_ - waiting_.size() + 1 : *running_.begin();
}

// Does what is still waiting itself, which takes less time than until a thread is awake.
void Background::settle() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t last = added_;
  while (!waiting_.empty() && added_ - waiting_.size() < last) do_first(&lock);
  done_.wait(lock, [&] { return oldest() > last; });
}

void Background::do_first(std::unique_lock<std::mutex>* lock) {
  const uint64_t number = added_ - waiting_.size() + 1;
  running_.insert(number);
  Task task = std::move(waiting_.front());
  waiting_.pop_front();
  lock->unlock();
  task();
  task = nullptr;
  lock->lock();
  running_.erase(number);
  done_.notify_all();
}

void Background::doze(std::unique_lock<std::mutex>* lock) {
  ++dozing_;
  for (int i = 0; i < kDozes && waiting_.empty() && !stopping_; ++i) work_.wait_for(*lock, kDoze);
  --dozing_;
}

void Background::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    if (waiting_.empty()) doze(&lock);
    work_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    do_first(&lock);
  }
}

}  // namespace cuvein
