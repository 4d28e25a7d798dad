// How long what is told of a launch waits for names that are about to be known.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace cuvein {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  // Of the thread that drains the ring, for which kernels may wait: little, from the moment on at which the
  // name was asked for.
  Patience() = default;
  // In the background: much, since it may take long to load and patch the next kernel of an operator. Time
  // passes for all launches that have ended at once, and when many of them wait it is over.
  Patience(Clock::time_point ended, const std::atomic<unsigned>* waiting)
      : ended_(ended), waiting_(waiting) {}

  bool lasts(Clock::time_point asked) const {
    const Clock::time_point now = Clock::now();
    if (waiting_ == nullptr) return now < asked + kLittle;
    return now < ended_ + kMuch && *waiting_ <= kMany;
  }

  static void pause() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

 private:
  static constexpr std::chrono::milliseconds kLittle{50}, kMuch{1000};
  static constexpr unsigned kMany = 64;

  Clock::time_point ended_;
  const std::atomic<unsigned>* waiting_ = nullptr;
};

}  // namespace cuvein
