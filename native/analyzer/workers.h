// A fixed team of threads that carries out one job at a time, all members together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cuvein {

class Workers {
 public:
  using Job = std::function<void(unsigned worker)>;

  explicit Workers(unsigned count);  // throws std::system_error when there are no threads to be had
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned count() const { return static_cast<unsigned>(threads_.size()); }
  // Hands a job to all members and returns. The one before must have been waited for.
  void start(Job job);
  // Until the job is done; throws what a member threw.
  void wait();

  // Within a job: carries out one step on each member and returns when all have finished it. After a failure
  // the remaining steps are left out.
  template <typename Step>
  void together(Step step) {
    try {
      if (!failed()) step();
    } catch (...) {
      fail(std::current_exception());
    }
    if (threads_.size() > 1) meet();
  }

 private:
  void dissolve();
  void work(unsigned worker);
  void meet();
  template <typename Condition>
  void look_for(Condition condition) const;
  bool failed() { return has_failed_.load(std::memory_order_acquire); }
  void fail(std::exception_ptr failure);

  std::mutex mutex_;
  std::condition_variable started_, finished_, met_;
  Job job_;
  std::atomic<uint64_t> jobs_{0};
  std::atomic<unsigned> running_{0};
  std::atomic<unsigned> waiting_{0};
  std::atomic<uint64_t> meetings_{0};
  std::atomic<bool> has_failed_{false};
  const unsigned spins_;  // looks before a member that waits for the others goes to sleep
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace cuvein
