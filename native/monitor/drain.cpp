#include "monitor/drain.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>

#include "monitor/gpu_engine.h"

namespace cuvein {
namespace {

constexpr uint64_t kBatch = 512 << 10;                 // bytes passed on at a time at most
constexpr auto kSpin = std::chrono::microseconds(50);  // looks without pause for so long
// For records that stand behind one that is still being written.
constexpr auto kPatience = std::chrono::milliseconds(2);
constexpr auto kNap = std::chrono::microseconds(100);
constexpr auto kSleep = std::chrono::milliseconds(5);  // while no launch is open
constexpr auto kRest = std::chrono::milliseconds(200);
constexpr auto kLongestUnrest = std::chrono::seconds(2);
constexpr auto kLongestStop = std::chrono::seconds(3);  // a kernel that never ends is left behind

bool absent32(uint32_t value) { return value == kAbsent32; }
bool absent8(uint8_t value) { return value == kAbsentLow || value == kAbsentHigh; }

// A kernel with a wild pointer may write anywhere, into the ring too.
bool is_record(const RecordHeader& header) {
  const bool known = static_cast<unsigned>(header.kind) < kRecordKindCount ||
                     header.kind == static_cast<RecordKind>(gpu::kCountRecord);
  return known && static_cast<unsigned>(header.form) < kAddressFormCount &&
         header.length * kRecordUnit == record_bytes(header.form, header.flags) &&
         (header.kind == RecordKind::kAccess || header.length * kRecordUnit == sizeof header);
}

// Whether the lanes of a record, which lie together, are all there.
bool lanes_ready(const RecordHeader& header, const volatile uint8_t* lanes) {
  if (header.form == AddressForm::kLanes32) {
    const auto* offsets = reinterpret_cast<const volatile uint32_t*>(lanes);
    for (uint32_t rest = header.active; rest != 0; rest &= rest - 1) {
      if (absent32(offsets[__builtin_ctz(rest)])) return false;
    }
    lanes += kLanes32Bytes;
  } else if (header.form == AddressForm::kLanes64) {
    const auto* addresses = reinterpret_cast<const volatile uint64_t*>(lanes);
    for (uint32_t rest = header.active; rest != 0; rest &= rest - 1) {
      if (addresses[__builtin_ctz(rest)] == kAbsent) return false;
    }
    lanes += kLanes64Bytes;
  }
  if (header.flags & kRecordFlagLaneSizes) {
    for (uint32_t rest = header.active; rest != 0; rest &= rest - 1) {
      if (absent8(lanes[__builtin_ctz(rest)])) return false;
    }
  }
  return true;
}

// A handler that ends the process would wait for what the thread itself holds.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

// Inactive lanes wrote nothing; a record says 0 for them.
void clear_inactive(RecordHeader* record) {
  if (record->active == 0xffffffff) return;
  uint8_t* lanes = reinterpret_cast<uint8_t*>(record + 1);
  const unsigned width = record->form == AddressForm::kLanes32   ? 4
                         : record->form == AddressForm::kLanes64 ? 8
                                                                 : 0;
  for (uint32_t rest = ~record->active; rest != 0; rest &= rest - 1) {
    const unsigned lane = __builtin_ctz(rest);
    std::memset(lanes + lane * width, 0, width);
    if (record->flags & kRecordFlagLaneSizes) lanes[32 * width + lane] = 0;
  }
}

}  // namespace

Drain::Drain(uint8_t* ring, uint64_t size, uint64_t* consumed, LaunchSlots* slots, Output* output)
    : ring_(ring),
      mask_(size - 1),
      consumed_(reinterpret_cast<std::atomic<uint64_t>*>(consumed)),
      slots_(slots),
      output_(output) {}

void Drain::fill(uint8_t* from, uint64_t bytes) {
  auto* words = reinterpret_cast<uint64_t*>(from);
  std::fill(words, words + bytes / sizeof *words, kAbsent);
}

void Drain::start(DeviceFacts (*prepare)(int, Output*), int device) {
  thread_ = std::thread([this, prepare, device] {
    {
      std::lock_guard<std::mutex> lock(passing_);
      attempt([&] {
        device_ = prepare(device, output_);
        return true;
      });
    }
    device_memory_ = device_.memory;
    begun_ = true;
    run();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    settled_.notify_all();
  });
}

void Drain::wake() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

// Who waits passes on records itself where the thread does not: it would first have to wake up, and this
// thread then, too. True when there is nothing to wait for any more.
bool Drain::settle_here(const CUstream* stream, uint64_t enough) {
  const WithoutSignals held;
  uint64_t taken = taken_;
  Clock::time_point end = Clock::now() + kSpin;
  while (begun_ && Clock::now() < end) {
    const std::unique_lock<std::mutex> lock(passing_, std::try_to_lock);
    if (lock) take();
    if (taken_ != taken) {  // as long as something comes
      taken = taken_;
      end = Clock::now() + kSpin;
    }
    if (!lock) continue;  // a launch that is closed may not have been passed on yet
    if (taken >= enough || slots_->open_count(stream) == 0) return true;
  }
  return false;
}

void Drain::settle(const CUstream* stream, bool here) {
  if (!thread_.joinable() || (!here && slots_->open_count(stream) == 0)) return;
  const uint64_t enough = taken_ + mask_ + 1;  // whatever is in the ring now lies before
  if (here && settle_here(stream, enough)) return;
  const uint64_t pauses = pauses_ + 2;  // the pass under way may have looked before the call
  const Clock::time_point patience = Clock::now() + kPatience;
  ++hurried_;
  wake();
  std::unique_lock<std::mutex> lock(mutex_);
  settled_.wait(lock, [&] {
    return stopping_ || taken_ >= enough || slots_->open_count(stream) == 0 ||
           (pauses_ >= pauses && Clock::now() >= patience);
  });
  --hurried_;
  lock.unlock();
  if (here) const std::lock_guard<std::mutex> passed(passing_);
}

bool Drain::wait_for(std::chrono::milliseconds time, const std::function<bool()>& done) {
  if (!thread_.joinable()) return done();
  ++hurried_;
  wake();
  std::unique_lock<std::mutex> lock(mutex_);
  const bool is_done = settled_.wait_for(lock, time, [&] { return stopping_ || done(); }) && done();
  --hurried_;
  return is_done;
}

void Drain::stop(unsigned quiet, bool process_ends, const char* reason) {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    quiet_ = quiet;
    process_ends_ = process_ends;
    reason_ = reason;
    deadline_ = Clock::now() + kLongestStop;
    stopping_ = true;
  }
  wake();
  settled_.notify_all();
  thread_.join();
}

uint64_t Drain::ready(uint64_t position) const {
  const uint64_t first = word(position);
  if (first == kAbsent) return 0;
  RecordHeader header;
  std::memcpy(&header, &first, sizeof first);
  for (unsigned i = 1; i < sizeof header / 8; ++i) {
    const uint64_t next = word(position + 8 * i);
    if (next == kAbsent) return 0;
    std::memcpy(reinterpret_cast<uint8_t*>(&header) + 8 * i, &next, sizeof next);
  }
  const uint64_t bytes = uint64_t{header.length} * kRecordUnit;
  if (!is_record(header)) throw std::runtime_error("something else wrote into the records");
  if (bytes == sizeof header) return bytes;
  const uint64_t start = (position + sizeof header) & mask_;
  const uint64_t size = bytes - sizeof header;
  if (start + size <= mask_ + 1) return lanes_ready(header, ring_ + start) ? bytes : 0;
  // The lanes wrap around: look at a copy, every word of which was read once.
  alignas(16) uint8_t copy[kLongestRecord];
  for (uint64_t i = 0; i < size; i += 8) {
    const uint64_t next = word(position + sizeof header + i);
    std::memcpy(copy + i, &next, sizeof next);
  }
  return lanes_ready(header, copy) ? bytes : 0;
}

bool Drain::complete(RecordHeader* record) {
  Launch* launch = slots_->find(record->launch & kSlotMask, record->reserved);
  if (launch == nullptr) return false;
  if (!launch->begun) output_->begin(launch, device_);
  const bool of_gpu_engine =
      record->kind == static_cast<RecordKind>(gpu::kCountRecord) || record->kind == RecordKind::kLaunchEnd;
  if (!of_gpu_engine && !launch->on_host) output_->begin_on_host(launch);
  record->launch = launch->sequence;
  record->pc -= static_cast<int32_t>(static_cast<uint32_t>(launch->entry->pc));
  record->reserved = 0;
  if (record->length != sizeof *record / kRecordUnit) clear_inactive(record);
  if (record->kind == static_cast<RecordKind>(gpu::kCountRecord)) {
    if (!launch->aggregate) launch->aggregate = std::make_unique<Aggregate>();
    launch->aggregate->add(record->address, record->block, static_cast<uint64_t>(record->value));
    record->kind = RecordKind::kPadding;
  } else if (record->kind == RecordKind::kLaunchEnd) {
    record->kind = RecordKind::kPadding;
    launch->ended_on_gpu = true;
    launch->ended = launch->threads;
    finished_ = launch;
  } else if (record->kind == RecordKind::kThreadExit) {
    launch->ended += __builtin_popcount(record->active);
    if (launch->ended >= launch->threads) finished_ = launch;
  }
  return true;
}

void Drain::release(uint64_t from, uint64_t bytes) {
  const uint64_t start = from & mask_;
  const uint64_t before_end = std::min(bytes, mask_ + 1 - start);
  fill(ring_ + start, before_end);
  fill(ring_, bytes - before_end);
  position_ = from + bytes;
  consumed_->store(position_, std::memory_order_release);
  taken_ = position_;
}

void Drain::fail(const std::string& what) {
  over_ = true;
  consumed_->store(kAllRoom, std::memory_order_release);
  const std::string reason = "the analysis stopped: " + what;
  output_->problem(reason);
  try {
    give_up(reason);
  } catch (const std::exception&) {
    // What is open stays without a profile.
  }
}

bool Drain::pass() {
  const uint64_t start = position_;
  uint64_t end = start;
  const auto forward = [&] {
    if (end == position_) return;
    const uint64_t from = position_;
    output_->records(ring_ + (from & mask_), end - from);
    release(from, end - from);
  };
  // A part of the ring at most: what lies a turn ahead of what was not released yet is that itself.
  const uint64_t batch = std::min(kBatch, (mask_ + 1) / 4);
  while (end - start < batch) {
    const uint64_t bytes = ready(end);
    if (bytes == 0) break;
    const uint64_t offset = end & mask_;
    finished_ = nullptr;
    if (offset + bytes > mask_ + 1) {  // wraps around: passed on from a copy, alone
      forward();
      alignas(16) uint8_t copy[kLongestRecord];
      const uint64_t head = mask_ + 1 - offset;
      std::memcpy(copy, ring_ + offset, head);
      std::memcpy(copy + head, ring_, bytes - head);
      if (complete(reinterpret_cast<RecordHeader*>(copy))) output_->records(copy, bytes);
      release(end, bytes);
      end += bytes;
    } else if (complete(reinterpret_cast<RecordHeader*>(ring_ + offset))) {
      end += bytes;
    } else {  // belongs to no open launch
      forward();
      release(end, bytes);
      end += bytes;
    }
    if ((end & mask_) == 0) forward();  // what is passed on lies in one piece
    if (finished_ != nullptr) {
      forward();
      std::unique_ptr<Launch> launch = slots_->close(finished_);
      if (launch->gpu) launch->gpu->ended(*launch);
      const std::shared_ptr<Module> module = launch->module;
      output_->end(std::move(launch), nullptr);
      --module->open;
    }
  }
  forward();
  return end != start;
}

bool Drain::take() {
  const bool passed = !over_ && attempt([this] { return pass(); });
  if (passed) last_ = Clock::now();
  return passed;
}

bool Drain::attempt(const std::function<bool()>& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    fail("memory ran out");
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return false;
}

void Drain::give_up(const std::string& reason) {
  for (Launch* open : slots_->open_launches()) {
    std::unique_ptr<Launch> launch = slots_->close(open);
    const std::shared_ptr<Module> module = launch->module;
    if (!launch->begun) output_->begin(launch.get(), device_);
    output_->end(std::move(launch), reason.c_str());
    --module->open;
  }
}

void Drain::run() {
  Clock::time_point rested = Clock::now();
  for (;;) {
    Clock::time_point last;
    bool passed;
    {
      std::lock_guard<std::mutex> lock(passing_);
      passed = take();
      if (over_) return;
      last = last_;
    }
    if (passed) {
      if (stopping_ && last > deadline_) break;
      if (hurried_ != 0) settled_.notify_all();
      if (last - rested > kLongestUnrest) {
        output_->rest();
        rested = last;
      }
      continue;
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++pauses_;
    }
    if (hurried_ != 0) {
      settled_.notify_all();
      std::this_thread::yield();
      continue;
    }
    const auto idle = Clock::now() - last;
    if (stopping_ && (slots_->open_count(nullptr) == 0 || idle > std::chrono::milliseconds(quiet_))) break;
    if (idle < kSpin) continue;
    if (idle > kRest && rested < last) {
      output_->rest();
      rested = Clock::now();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait_for(
        lock,
        slots_->open_count(nullptr) == 0 && !stopping_ ? Clock::duration(kSleep) : Clock::duration(kNap),
        [this] { return woken_; });
    woken_ = false;
  }
  std::lock_guard<std::mutex> lock(passing_);
  over_ = true;
  // At its exit the Sanitizer API waits for kernels that are still running; without it they would be stopped.
  consumed_->store(process_ends_ && slots_->open_count(nullptr) != 0 ? kNoMore : kAllRoom,
                   std::memory_order_release);
  give_up(reason_);  // of stop(), which has set it before
}

}  // namespace cuvein
