#include "analyzer/workers.h"

#include <utility>

namespace cuvein {

namespace {

constexpr unsigned kSpins = 1000;  // some 40 microseconds

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Where members share processors, one that looks keeps another from working.
Workers::Workers(unsigned count) : spins_(count <= std::thread::hardware_concurrency() ? kSpins : 0) {
  try {
    for (unsigned worker = 0; worker < count; ++worker)
      threads_.emplace_back([this, worker] { work(worker); });
  } catch (...) {  // the system has no more threads: those that run must not be left behind
    dissolve();
    throw;
  }
}

Workers::~Workers() { dissolve(); }

void Workers::dissolve() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::start(Job job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    job_ = std::move(job);
    running_ = count();
    ++jobs_;
  }
  started_.notify_all();
}

// What is waited for is mostly near, and going to sleep takes longer.
template <typename Condition>
void Workers::look_for(Condition condition) const {
  for (unsigned spin = 0; spin < spins_ && !condition(); ++spin) pause();
}

void Workers::wait() {
  look_for([this] { return running_.load(std::memory_order_acquire) == 0; });
  std::unique_lock<std::mutex> lock(mutex_);
  finished_.wait(lock, [this] { return running_ == 0; });
  if (failure_ == nullptr) return;
  has_failed_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Workers::work(unsigned worker) {
  uint64_t done = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    if (jobs_ == done && !stop_) {
      lock.unlock();
      look_for([&] { return jobs_.load(std::memory_order_acquire) != done; });
      lock.lock();
    }
    // A job that was started is finished even when the team is to be dissolved.
    started_.wait(lock, [&] { return stop_ || jobs_ != done; });
    if (jobs_ == done) return;
    done = jobs_;
    lock.unlock();
    try {
      job_(worker);
    } catch (...) {
      fail(std::current_exception());
    }
    lock.lock();
    if (--running_ == 0) finished_.notify_all();
  }
}

void Workers::meet() {
  const uint64_t meeting = meetings_.load(std::memory_order_relaxed);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_.size()) {
    waiting_.store(0, std::memory_order_relaxed);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      meetings_.store(meeting + 1, std::memory_order_release);
    }
    met_.notify_all();
    return;
  }
  look_for([&] { return meetings_.load(std::memory_order_acquire) != meeting; });
  std::unique_lock<std::mutex> lock(mutex_);
  met_.wait(lock, [&] { return meetings_.load(std::memory_order_relaxed) != meeting; });
}

void Workers::fail(std::exception_ptr failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_ == nullptr) failure_ = std::move(failure);
  has_failed_.store(true, std::memory_order_release);
}

}  // namespace cuvein
