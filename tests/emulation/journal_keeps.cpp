// The journal: what is kept and not dropped is there for who reads the file, whole, also when the process is
// gone; room is used again; the file goes with the journal, unless something is left in it.
//
//   journal_keeps FILE PROFILE        keeps two of four profiles, the text PROFILE, and ends without ceremony
//   journal_keeps FILE PROFILE rest   ends the journal while something is in it
//   journal_keeps FILE PROFILE many   keeps and drops thousands from several threads; no file is left
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "monitor/journal.h"

namespace {

constexpr auto kProfile = cuvein::Journal::Kind::kProfile;

int fail(const char* what) {
  std::puts(what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string profile = argv[2];
  std::unique_ptr<cuvein::Journal> journal = cuvein::Journal::create(argv[1]);
  if (!journal) return fail("no journal");
  if (cuvein::Journal::create(argv[1])) return fail("a second journal in the same file");
  if (argc == 3) {
    const int dropped = journal->keep(kProfile, 1, "one");
    journal->keep(kProfile, 2, profile + std::string(100000, ' '));
    journal->keep(kProfile, 3, "three");
    journal->drop(dropped);
    journal->keep(kProfile, 4, profile);
    if (journal->keep(kProfile, 5, std::string(size_t{4} << 20, '5')) != -1)
      return fail("more than there is room for");
    journal->drop(2);
    std::puts("done");
    std::fflush(stdout);
    _exit(0);
  }
  if (argv[3] == std::string("rest")) {
    journal->keep(kProfile, 7, profile);
    journal->keep(cuvein::Journal::Kind::kCounts, 8, "no counts");
    journal.reset();
    std::puts("done");
    return 0;
  }
  std::atomic<bool> refused{false};
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      std::vector<int> kept;
      for (uint32_t i = 0; i < 4000; ++i) {
        const int number =
            journal->keep(kProfile, thread * 4000 + i, std::string(1 + (i * 7919 + thread) % 20000, 'x'));
        if (number < 0)
          refused = true;
        else
          kept.push_back(number);
        if (kept.size() > 50 || (number < 0 && !kept.empty())) {
          journal->drop(kept[i % kept.size()]);
          kept.erase(kept.begin() + static_cast<long>(i % kept.size()));
        }
      }
      for (const int number : kept) journal->drop(number);
    });
  for (std::thread& thread : threads) thread.join();
  if (refused) return fail("there was room");
  std::vector<int> numbers;
  for (int number = 0; number >= 0;) {
    number = journal->keep(kProfile, 1, std::string(30000, 'y'));
    if (number >= 0) numbers.push_back(number);
  }
  // It is filled from somewhere on, so a piece at each end may be too small.
  if (numbers.size() + 1 < ((size_t{4} << 20) - 32768) / 30000) return fail("room was lost");
  for (const int number : numbers) journal->drop(number);
  journal.reset();
  struct stat status;
  if (stat(argv[1], &status) == 0) return fail("the file is still there");
  std::puts("done");
  return 0;
}
