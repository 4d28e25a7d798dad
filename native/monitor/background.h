// Work that is done beside the thread that hands it over, by a few threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace cuvein {

class Background {
 public:
  using Task = std::function<void()>;  // does not throw

  // Threads begin when there is something to do. To wake one that sleeps takes who does so longer than many a
  // task takes, so a thread looks for more now and then before it sleeps, and who adds a task wakes nobody
  // meanwhile unless many wait.
  explicit Background(unsigned threads, size_t most_waiting = 256)
      : most_threads_(threads), most_waiting_(most_waiting) {}
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // The caller does the task itself where too many wait.
  void add(Task task);
  // Waits until all tasks added before are done.
  void settle();

 private:
  bool hand_over(Task* task);
  void do_first(std::unique_lock<std::mutex>* lock);
  void run();
  bool needs_thread() const;  // for what is waiting; with the mutex, as what follows
  void doze(std::unique_lock<std::mutex>* lock);
  uint64_t oldest() const;  // number of the first task that is not done

  const unsigned most_threads_;
  const size_t most_waiting_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable work_, done_;
  std::deque<Task> waiting_;
  std::vector<std::thread> threads_;
  uint64_t added_ = 0;          // tasks, which are numbered from 1 on
  std::set<uint64_t> running_;  // their numbers
  size_t dozing_ = 0;           // threads that will look for more by themselves
  bool stopping_ = false;
};

}  // namespace cuvein
