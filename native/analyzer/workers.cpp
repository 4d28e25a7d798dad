#include "analyzer/workers.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace cuvein {

namespace {

constexpr unsigned kSpins = 10'000;  // some 400 microseconds

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// That this process may use.
unsigned processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::thread::hardware_concurrency();
}

}  // namespace

// Where members share processors, one that looks keeps another from working.
Workers::Workers(unsigned count, unsigned slices, Steps& steps)
    : steps_(steps),
      count_(count),
      slices_(slices),
      spins_(count <= processors() ? kSpins : 0),
      members_(count) {
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
  stop_ = true;
  advance();
  for (std::thread& thread : threads_) thread.join();
}

// What is waited for is mostly near, and going to sleep takes longer.
template <typename Condition>
bool Workers::look_for(Condition condition) const {
  for (unsigned spin = 0; spin < spins_; ++spin) {
    if (condition()) return true;
    pause();
  }
  return condition();
}

// Tells the members that there may be something to do.
void Workers::advance() {
  news_.fetch_add(1);
  if (asleep_.load() == 0) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
  }
  woken_.notify_all();
}

void Workers::rest(Member& member, uint64_t seen) {
  const bool starved = member.by_address == submitted_.load(std::memory_order_acquire);
  const Clock::time_point from = Clock::now();
  idle_.fetch_add(1, std::memory_order_relaxed);
  if (!look_for([&] { return news_.load(std::memory_order_acquire) != seen; })) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++asleep_;
    woken_.wait(lock, [&] { return news_.load() != seen; });
    --asleep_;
  }
  idle_.fetch_sub(1, std::memory_order_relaxed);
  const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
  (starved ? member.times.starved : member.times.waiting) += seconds;
}

// Of the thread that hands over.
template <typename Condition>
void Workers::wait_until(Condition condition) {
  if (look_for(condition)) return;
  std::unique_lock<std::mutex> lock(mutex_);
  waits_ = true;
  finished_.wait(lock, condition);
  waits_ = false;
}

// Tells the thread that hands over that what it waits for may have come.
void Workers::tell() {
  if (!waits_.load()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
  }
  finished_.notify_one();
}

unsigned Workers::next() {
  const uint64_t batch = submitted_.load(std::memory_order_relaxed);
  wait_until([&] { return progress(batch).done.load(); });
  if (failed()) wait();
  return static_cast<unsigned>(batch % kBatches);
}

void Workers::submit() {
  const uint64_t batch = submitted_.load(std::memory_order_relaxed);
  Progress& progress = this->progress(batch);
  progress.taken = 0;
  progress.decoded = 0;
  progress.blocks_done = 0;
  progress.through = 0;
  progress.done = false;
  submitted_.store(batch + 1, std::memory_order_release);
  advance();
}

void Workers::wait() {
  for (Progress& progress : batches_) wait_until([&] { return progress.done.load(); });
  rethrow();
}

void Workers::offer() {
  parts_.fetch_add(1);
  advance();
}

void Workers::join_in() {
  while (take_part()) {
  }
  const uint64_t parts = parts_.load();
  wait_until([&] { return parts_done_.load() == parts; });
}

// Numbers are never used again, so one that was taken is there.
bool Workers::take_part() {
  uint64_t part = parts_taken_.load();
  do {
    if (part == parts_.load()) return false;
  } while (!parts_taken_.compare_exchange_weak(part, part + 1));
  steps_.take_in(part);
  if (parts_done_.fetch_add(1) + 1 == parts_.load()) tell();
  return true;
}

void Workers::each(Job job) {
  wait();
  job_ = std::move(job);
  jobs_done_ = 0;
  jobs_.fetch_add(1, std::memory_order_release);
  advance();
  wait_until([&] { return jobs_done_.load() == count_; });
  rethrow();
}

void Workers::rethrow() {
  if (!failed()) return;
  has_failed_ = false;
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Workers::fail(std::exception_ptr failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_ == nullptr) failure_ = std::move(failure);
  has_failed_.store(true, std::memory_order_release);
}

// After a failure the remaining steps are left out.
template <typename Step>
void Workers::carry_out(double* seconds, Step step) {
  const Clock::time_point from = Clock::now();
  try {
    if (!failed()) step();
  } catch (...) {
    fail(std::current_exception());
  }
  *seconds += std::chrono::duration<double>(Clock::now() - from).count();
}

void Workers::work(unsigned worker) {
  Member& member = members_[worker];
  for (;;) {
    const uint64_t seen = news_.load(std::memory_order_acquire);
    if (work_once(worker, member)) continue;
    // What was submitted is finished even when the team is to be dissolved.
    if (stop_.load() && member.by_address == submitted_.load()) return;
    rest(member, seen);
  }
}

// The oldest batch comes first. False when there is nothing to do.
bool Workers::work_once(unsigned worker, Member& member) {
  if (member.jobs != jobs_.load(std::memory_order_acquire)) {
    ++member.jobs;
    carry_out(&member.times.cleaning, [&] { job_(worker); });
    if (jobs_done_.fetch_add(1) + 1 == count_) tell();
    return true;
  }
  const uint64_t submitted = submitted_.load(std::memory_order_acquire);
  if (member.by_address != submitted &&
      progress(member.by_address).blocks_done.load(std::memory_order_acquire) == count_) {
    const unsigned batch = static_cast<unsigned>(member.by_address % kBatches);
    carry_out(&member.times.by_address, [&] { steps_.by_address(worker, batch); });
    ++member.by_address;
    if (batches_[batch].through.fetch_add(1) + 1 == count_) {
      carry_out(&member.times.by_address, [&] { steps_.close(worker, batch); });
      batches_[batch].done = true;
      tell();
    }
    return true;
  }
  if (member.by_block != submitted &&
      progress(member.by_block).decoded.load(std::memory_order_acquire) == slices_) {
    Progress& progress = this->progress(member.by_block);
    const unsigned batch = static_cast<unsigned>(member.by_block % kBatches);
    carry_out(&member.times.by_block, [&] { steps_.by_block(worker, batch); });
    ++member.by_block;
    if (progress.blocks_done.fetch_add(1) + 1 == count_) advance();
    return true;
  }
  if (decode_one(worker, member, submitted)) return true;
  bool helped = false;
  carry_out(&member.times.checking, [&] { helped = take_part(); });
  return helped;
}

bool Workers::decode_one(unsigned worker, Member& member, uint64_t submitted) {
  for (uint64_t batch = std::max(member.decode, member.by_block); batch != submitted; ++batch) {
    member.decode = batch;
    Progress& progress = this->progress(batch);
    const unsigned slice = progress.taken.fetch_add(1, std::memory_order_relaxed);
    if (slice >= slices_) continue;
    carry_out(&member.times.decode,
              [&] { steps_.decode(worker, static_cast<unsigned>(batch % kBatches), slice); });
    if (progress.decoded.fetch_add(1) + 1 == slices_) advance();
    return true;
  }
  member.decode = submitted;
  return false;
}

std::vector<WorkerTimes> Workers::times() {
  std::vector<WorkerTimes> times(count_);
  each([&](unsigned worker) { times[worker] = members_[worker].times; });
  return times;
}

}  // namespace cuvein
