// The GPU engine's device code on the processor: the 32 lanes of a warp are coroutines that meet in the
// warp's collective operations. One warp runs at a time, so what it does is what the records' order says.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "model/gpu_engine.h"
#include "model/record.h"
#include "patches/channel.h"

#define CUVEIN_SLOW __attribute__((noinline)) inline
#define CUVEIN_FAST inline
#define CUVEIN_METHOD inline

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

namespace emulated {

class Warp {
 public:
  static Warp& instance() {
    static Warp warp;
    return warp;
  }

  // Runs body(lane) for all active lanes together.
  void run(uint32_t active, const std::function<void(uint32_t)>& body) {
    body_ = &body;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      waiting_[lane] = 0;
      if ((active >> lane & 1) == 0) continue;
      getcontext(&contexts_[lane]);
      stacks_[lane].resize(256 << 10);
      contexts_[lane].uc_stack.ss_sp = stacks_[lane].data();
      contexts_[lane].uc_stack.ss_size = stacks_[lane].size();
      contexts_[lane].uc_link = &scheduler_;
      makecontext(&contexts_[lane], reinterpret_cast<void (*)()>(&Warp::start), 0);
    }
    running_ = active;
    while (running_ != 0) {
      for (uint32_t lane = 0; lane < 32; ++lane) {
        if ((running_ >> lane & 1) == 0 || waiting_[lane] != 0) continue;
        lane_ = lane;
        swapcontext(&scheduler_, &contexts_[lane]);
      }
      release();
    }
  }

  uint32_t lane() const { return lane_; }

  // All lanes of the mask meet here; then each sees the values of all.
  const uint64_t* meet(uint32_t mask, uint64_t value, const char* what) {
    const uint32_t lane = lane_;
    if ((mask >> lane & 1) == 0) fail("a lane is not in its own mask", what);
    values_[lane] = value;
    what_[lane] = what;
    waiting_[lane] = mask;
    swapcontext(&contexts_[lane], &scheduler_);
    return seen_[lane];
  }

  bool together(uint32_t mask, bool condition) {
    const uint64_t* values = meet(mask, condition, kTogether);
    for (uint32_t lane = 0; lane < 32; ++lane)
      if ((mask >> lane & 1) != 0 && values[lane] == 0) return false;
    return true;
  }

  void yield() { swapcontext(&contexts_[lane_], &scheduler_); }

  [[noreturn]] static void fail(const char* message, const char* where) {
    std::fprintf(stderr, "emulation: %s (%s)\n", message, where);
    std::abort();
  }

 private:
  static constexpr const char* kTogether = "together";

  static void start() {
    Warp& warp = instance();
    const uint32_t lane = warp.lane_;
    (*warp.body_)(lane);
    warp.running_ &= ~(1u << lane);
  }

  void release() {
    bool moved = false, spinning = false;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t mask = waiting_[lane];
      spinning |= (running_ >> lane & 1) != 0 && mask == 0;
      if ((running_ >> lane & 1) == 0 || mask == 0) continue;
      bool all = true;
      for (uint32_t other = 0; other < 32; ++other) {
        if ((mask >> other & 1) == 0) continue;
        if ((running_ >> other & 1) == 0) fail("a lane of the mask has ended", what_[lane]);
        all = all && waiting_[other] == mask && what_[other] == what_[lane];
      }
      if (!all && what_[lane] == kTogether) {
        // Who asks whether all are beside it does not wait for those that are not.
        std::fill(seen_[lane], seen_[lane] + 32, 0);
        waiting_[lane] = 0;
        moved = true;
      }
      if (!all) continue;
      for (uint32_t other = 0; other < 32; ++other) {
        if ((mask >> other & 1) == 0) continue;
        std::copy(values_, values_ + 32, seen_[other]);
        waiting_[other] = 0;
      }
      moved = true;
    }
    if (running_ == 0 || moved || spinning) return;
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (running_ >> lane & 1) std::fprintf(stderr, "lane %u: %s %x\n", lane, what_[lane], waiting_[lane]);
    fail("lanes wait for one another", "deadlock");
  }

  const std::function<void(uint32_t)>* body_ = nullptr;
  ucontext_t scheduler_, contexts_[32];
  std::vector<char> stacks_[32];
  uint32_t running_ = 0, lane_ = 0, waiting_[32] = {};
  uint64_t values_[32] = {}, seen_[32][32] = {};
  const char* what_[32] = {};
};

inline uint32_t multiprocessor_of_block = 0, shared_bytes_of_block = 0;
inline uint32_t warp_of_lanes = 0, place_of_warp = 0, grid_of_launch = 0;

}  // namespace emulated

inline Dim3 blockIdx, blockDim, gridDim;
inline struct {
  struct {
    operator uint32_t() const { return emulated::warp_of_lanes * 32 + emulated::Warp::instance().lane(); }
  } x;
  uint32_t y = 0, z = 0;
} threadIdx;

inline uint32_t __popc(uint32_t value) { return static_cast<uint32_t>(__builtin_popcount(value)); }
inline int __ffs(uint32_t value) { return __builtin_ffs(static_cast<int>(value)); }
inline uint32_t __clz(uint32_t value) {
  return value == 0 ? 32 : static_cast<uint32_t>(__builtin_clz(value));
}
inline uint32_t __clzll(uint64_t value) {
  return value == 0 ? 64 : static_cast<uint32_t>(__builtin_clzll(value));
}
inline void __threadfence() {}

template <typename T>
T __shfl_sync(uint32_t mask, T value, uint32_t from) {
  return static_cast<T>(
      emulated::Warp::instance().meet(mask, static_cast<uint64_t>(value), "shfl")[from & 31]);
}
inline uint32_t __ballot_sync(uint32_t mask, bool value) {
  const uint64_t* values = emulated::Warp::instance().meet(mask, value, "ballot");
  uint32_t result = 0;
  for (uint32_t lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1) != 0 && values[lane] != 0) result |= 1u << lane;
  return result;
}
inline bool __all_sync(uint32_t mask, bool value) { return __ballot_sync(mask, value) == mask; }
template <typename T>
uint32_t __match_any_sync(uint32_t mask, T value) {
  const uint64_t* values = emulated::Warp::instance().meet(mask, static_cast<uint64_t>(value), "match");
  uint32_t result = 0;
  for (uint32_t lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1) != 0 && values[lane] == static_cast<uint64_t>(value)) result |= 1u << lane;
  return result;
}
inline void __syncwarp(uint32_t mask) { emulated::Warp::instance().meet(mask, 0, "sync"); }

template <typename T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at = before + value;
  return before;
}
template <typename T>
T add_after(T* at, T value) {
  return atomicAdd(at, value);
}
template <typename T>
T add_in_block(T* at, T value) {
  return atomicAdd(at, value);
}
inline void see_block() {}
inline void publish_after(unsigned long long* at, unsigned long long value) { *at = value; }
inline void see_all() {}
template <typename T>
T atomicOr(T* at, T value) {
  const T before = *at;
  *at = before | value;
  return before;
}
template <typename T>
T atomicAnd(T* at, T value) {
  const T before = *at;
  *at = before & value;
  return before;
}
inline void and_after(uint32_t* at, uint32_t value) { atomicAnd(at, value); }
template <typename T>
T atomicMax(T* at, T value) {
  const T before = *at;
  if (before < value) *at = value;
  return before;
}
template <typename T>
T atomicExch(T* at, T value) {
  const T before = *at;
  *at = value;
  return before;
}
template <typename T>
T atomicCAS(T* at, T expected, T value) {
  const T before = *at;
  if (before == expected) *at = value;
  return before;
}

namespace cuvein {
namespace gpu {

inline uint32_t multiprocessor() { return emulated::multiprocessor_of_block; }
inline uint32_t multiprocessors() { return kMultiprocessors; }
inline uint32_t warp_of_multiprocessor() { return emulated::place_of_warp % kWarpsPerMultiprocessor; }
inline uint32_t lane_of_warp() { return emulated::Warp::instance().lane(); }
struct Two {
  uint64_t first, second;
};
inline Two exchange_two(uint64_t address, uint64_t value) {
  uint64_t* at = reinterpret_cast<uint64_t*>(address);
  const Two before{at[0], at[1]};
  at[0] = at[1] = value;
  return before;
}
template <uint64_t kDistance>
void count_one(uint64_t address) {
  ++*reinterpret_cast<uint64_t*>(address + kDistance);
}
template <uint64_t kDistance>
void count_several(uint64_t address, uint64_t count) {
  *reinterpret_cast<uint64_t*>(address + kDistance) += count;
}
struct alignas(16) Quad {
  uint32_t x, y, z, w;
};
template <uint64_t kDistance>
Quad quad(uint64_t address) {
  return *reinterpret_cast<const Quad*>(address + kDistance);
}
struct alignas(8) Pair {
  uint32_t x, y;
};
template <uint64_t kDistance>
Pair pair(uint64_t address) {
  return *reinterpret_cast<const Pair*>(address + kDistance);
}
template <uint64_t kDistance>
uint32_t word(uint64_t address) {
  return *reinterpret_cast<const uint32_t*>(address + kDistance);
}
template <typename T>
void again(T*) {}
inline uint64_t exchange_if(bool condition, uint64_t address, uint64_t value) {
  if (!condition) return 0;
  uint64_t* at = reinterpret_cast<uint64_t*>(address);
  const uint64_t before = *at;
  *at = value;
  return before;
}
inline uint32_t shift_left(uint32_t value, uint32_t bits) { return bits < 32 ? value << bits : 0; }
inline bool together(uint32_t active, bool condition) {
  return emulated::Warp::instance().together(active, condition);
}
inline uint32_t shared_bytes() { return emulated::shared_bytes_of_block; }
inline uint32_t grid_of_launch() { return emulated::grid_of_launch; }
template <typename T>
T* in_global(uint64_t address) {
  return reinterpret_cast<T*>(address);
}
template <typename T>
T* in_global(T* pointer) {
  return pointer;
}
inline void pause() { emulated::Warp::instance().yield(); }

template <typename T>
T fetch(const T* from) {
  return *from;
}
template <typename T>
T fresh(const T* at) {
  return *const_cast<const volatile T*>(at);
}
template <typename T>
void publish(T* at, T value) {
  *const_cast<volatile T*>(at) = value;
}
inline void publish_quad(void* at, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  uint32_t* words = static_cast<uint32_t*>(at);
  words[0] = x;
  words[1] = y;
  words[2] = z;
  words[3] = w;
}

}  // namespace gpu
}  // namespace cuvein
