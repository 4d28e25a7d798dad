// Takes records out of a channel's ring, completes them with what the host knows and passes them on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "monitor/launch.h"
#include "monitor/output.h"
#include "patches/channel.h"

namespace cuvein {

// One for each context, with a thread of its own, which never calls CUDA while launches are open: a driver
// lock held by someone who waits for the ring would stop both.
class Drain {
 public:
  // `ring` has `size` bytes, a power of two, and is filled with kAbsent here. `consumed` is read by the
  // patches.
  Drain(uint8_t* ring, uint64_t size, uint64_t* consumed, LaunchSlots* slots, Output* output);

  static void fill(uint8_t* from, uint64_t bytes);

  // Starts the thread. `prepare` runs on it first and says on which device the context is.
  void start(DeviceFacts (*prepare)(int, Output*), int device);

  const std::atomic<uint64_t>& device_memory() const { return device_memory_; }  // bytes; 0: not known yet

  void wake();  // a launch was opened

  // Returns once no launch of the stream (null: none at all) is open, or else every record that was in the
  // ring at the call has been passed on. `here`: the calling thread may do so, and waits until it is done;
  // otherwise the launch that is passed on last may be on its way yet.
  void settle(const CUstream* stream, bool here);

  // Waits for what the thread brings about by its work; false when the time is over first.
  bool wait_for(std::chrono::milliseconds time, const std::function<bool()>& done);

  // Ends the thread: first waits until no launch is open or nothing has come for `quiet` milliseconds, then
  // closes what is open with the reason given. Kernels that are still running go on unobserved, or end at
  // their next records if the process does.
  void stop(unsigned quiet, bool process_ends, const char* reason);

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool pass();  // passes on what is there; false when there was nothing
  // Both without throwing, and with passing_.
  bool take();  // pass(), while it is not over
  bool attempt(const std::function<bool()>& step);
  bool settle_here(const CUstream* stream, uint64_t enough);
  uint64_t ready(uint64_t position) const;  // bytes of the record there; 0: not (wholly) there
  bool complete(RecordHeader* record);      // false: belongs to no open launch
  void release(uint64_t from, uint64_t bytes);
  void give_up(const std::string& reason);  // what is open
  void fail(const std::string& what);
  uint64_t word(uint64_t position) const {
    return *reinterpret_cast<const volatile uint64_t*>(ring_ + (position & mask_));
  }

  uint8_t* const ring_;
  const uint64_t mask_;
  std::atomic<uint64_t>* const consumed_;
  LaunchSlots* const slots_;
  Output* const output_;
  DeviceFacts device_;
  std::atomic<uint64_t> device_memory_{0};
  std::thread thread_;
  std::mutex passing_;                     // held by who passes on records; guards what follows
  bool over_ = false;                      // nothing more is passed on
  Clock::time_point last_ = Clock::now();  // something was there
  uint64_t position_ = 0;                  // bytes taken
  Launch* finished_ = nullptr;             // by the record just completed
  std::atomic<bool> begun_{false};         // the thread passes on what comes
  std::atomic<uint64_t> taken_{0};         // position_, for others
  std::atomic<uint64_t> pauses_{0};        // how often nothing was there
  std::mutex mutex_;                       // guards what follows
  std::condition_variable wake_;
  std::condition_variable settled_;
  bool woken_ = false;
  std::atomic<int> hurried_{0};  // threads in settle()
  std::atomic<bool> stopping_{false};
  unsigned quiet_ = 0;
  bool process_ends_ = false;
  Clock::time_point deadline_;
  std::string reason_;
};

}  // namespace cuvein
