#include "analyzer/workers.h"

#include <utility>

namespace cuvein {

Workers::Workers(unsigned count) {
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

void Workers::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  finished_.wait(lock, [this] { return running_ == 0; });
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Workers::work(unsigned worker) {
  uint64_t done = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
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
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t meeting = meetings_;
  if (++waiting_ == threads_.size()) {
    waiting_ = 0;
    ++meetings_;
    met_.notify_all();
    return;
  }
  met_.wait(lock, [&] { return meetings_ != meeting; });
}

bool Workers::failed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_ != nullptr;
}

void Workers::fail(std::exception_ptr failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_ == nullptr) failure_ = std::move(failure);
}

}  // namespace cuvein
