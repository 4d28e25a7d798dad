// What the GPU engine asks of the hardware. The tests put other definitions in its place and run the engine
// on the processor (CUVEIN_EMULATED).
#pragma once

#include <cstdint>

#include "model/gpu_engine.h"
#include "patches/channel.h"

#ifdef CUVEIN_EMULATED
#include "emulated.h"
#else

// Slow paths are calls, so that their registers and their stack do not burden the others. All functions are
// static: of others there would be copies that nobody calls, and the stack that each thread of the GPU is
// given for patches is the sum of what all functions of a fatbin need.
#define CUVEIN_SLOW [[maybe_unused]] static __device__ __noinline__
#define CUVEIN_FAST [[maybe_unused]] static __device__ __forceinline__
#define CUVEIN_METHOD __device__ __forceinline__

namespace cuvein {
namespace gpu {

CUVEIN_FAST uint32_t multiprocessor() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// More than the number of any.
CUVEIN_FAST uint32_t multiprocessors() {
  uint32_t count;
  asm("mov.u32 %0, %%nsmid;" : "=r"(count));
  return count < kMultiprocessors ? count : kMultiprocessors;
}

// Where the hardware has the warp, among those of its multiprocessor.
CUVEIN_FAST uint32_t warp_of_multiprocessor() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(id));
  return id % kWarpsPerMultiprocessor;
}

CUVEIN_FAST uint32_t lane_of_warp() {
  uint32_t lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// One more, without asking how many there were.
template <uint64_t kDistance>
CUVEIN_FAST void count_one(uint64_t address) {
  asm volatile("red.global.add.u64 [%0 + %1], 1;" ::"l"(address), "n"(kDistance) : "memory");
}

template <uint64_t kDistance>
CUVEIN_FAST void count_several(uint64_t address, uint64_t count) {
  asm volatile("red.global.add.u64 [%0 + %1], %2;" ::"l"(address), "n"(kDistance), "l"(count) : "memory");
}

// Adds, after all that the lanes before it have written; what was there.
CUVEIN_FAST uint32_t add_after(uint32_t* at, uint32_t value) {
  uint32_t before;
  asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(at)), "r"(value)
               : "memory");
  return before;
}
CUVEIN_FAST unsigned long long add_after(unsigned long long* at, unsigned long long value) {
  unsigned long long before;
  asm volatile("atom.add.release.gpu.global.u64 %0, [%1], %2;"
               : "=l"(before)
               : "l"(__cvta_generic_to_global(at)), "l"(value)
               : "memory");
  return before;
}

// Stores, after all that the lanes before it have written. Unlike a fence this leaves what is in the cache of
// the multiprocessor.
CUVEIN_FAST void publish_after(unsigned long long* at, unsigned long long value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(at)), "l"(value)
               : "memory");
}
CUVEIN_FAST void and_after(uint32_t* at, uint32_t value) {
  asm volatile("red.and.release.gpu.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(at)), "r"(value)
               : "memory");
}

// Likewise, where only lanes of the same block add, which costs next to nothing. Who hands on what all of
// them have written calls see_block() first.
CUVEIN_FAST uint32_t add_in_block(uint32_t* at, uint32_t value) {
  uint32_t before;
  asm volatile(
      "fence.acq_rel.cta;\n\t"
      "atom.add.relaxed.gpu.global.u32 %0, [%1], %2;"
      : "=r"(before)
      : "l"(__cvta_generic_to_global(at)), "r"(value)
      : "memory");
  return before;
}
CUVEIN_FAST void see_block() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }
// The same of all blocks: what was read so far comes before what follows, what was written so far, too. Less
// than
// __threadfence(), which also has all fences in one order.
CUVEIN_FAST void see_all() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

struct alignas(16) Quad {
  uint32_t x, y, z, w;
};

// 16 bytes at a fixed distance from an address in device memory. Loaded where it says so and each time anew:
// left to itself the compiler would load early and run out of registers.
template <uint64_t kDistance>
CUVEIN_FAST Quad quad(uint64_t address) {
  Quad value;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4 + %5];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address), "n"(kDistance));
  return value;
}

struct alignas(8) Pair {
  uint32_t x, y;
};
template <uint64_t kDistance>
CUVEIN_FAST Pair pair(uint64_t address) {
  Pair value;
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2 + %3];"
               : "=r"(value.x), "=r"(value.y)
               : "l"(address), "n"(kDistance));
  return value;
}

template <uint64_t kDistance>
CUVEIN_FAST uint32_t word(uint64_t address) {
  uint32_t value;
  asm volatile("ld.global.u32 %0, [%1 + %2];" : "=r"(value) : "l"(address), "n"(kDistance));
  return value;
}

// What was computed from the value so far is not kept, but computed again.
template <typename T>
CUVEIN_FAST void again(T* value) {
  if constexpr (sizeof(T) == 8)
    asm volatile("" : "+l"(*value));
  else
    asm volatile("" : "+r"(*value));
}

// Exchanges if the condition holds, without a branch.
CUVEIN_FAST uint64_t exchange_if(bool condition, uint64_t address, uint64_t value) {
  uint64_t before;
  asm volatile(
      "{\n\t"
      ".reg .pred holds;\n\t"
      "setp.ne.u32 holds, %3, 0;\n\t"
      "mov.u64 %0, 0;\n\t"
      "@holds atom.global.exch.b64 %0, [%1], %2;\n\t"
      "}"
      : "=&l"(before)
      : "l"(address), "l"(value), "r"(static_cast<uint32_t>(condition))
      : "memory");
  return before;
}

// Exchanges two values side by side, at an address that is a multiple of 16, for the same one each. It costs
// as much as of one value where the hardware does it at once.
struct Two {
  uint64_t first, second;
};
CUVEIN_FAST Two exchange_two(uint64_t address, uint64_t value) {
  Two before;
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n\t"
      ".reg .b128 now, then;\n\t"
      "mov.b128 now, {%3, %3};\n\t"
      "atom.global.exch.b128 then, [%2], now;\n\t"
      "mov.b128 {%0, %1}, then;\n\t"
      "}"
      : "=l"(before.first), "=l"(before.second)
      : "l"(address), "l"(value)
      : "memory");
#else
  before.first = exchange_if(true, address, value);
  before.second = exchange_if(true, address + 8, value);
#endif
  return before;
}

// Nothing is left when all bits are shifted out.
CUVEIN_FAST uint32_t shift_left(uint32_t value, uint32_t bits) {
  uint32_t shifted;
  asm("shl.b32 %0, %1, %2;" : "=r"(shifted) : "r"(value), "r"(bits));
  return shifted;
}

CUVEIN_FAST uint32_t active_lanes() { return __activemask(); }

// Whether the condition holds for all lanes of `active`. Only when all of them run side by side can one see
// all of them, so either all see that it holds or none. Much less machine code than a vote.
// Predicated, since after a branch those that took it would not be beside the others.
CUVEIN_FAST bool together(uint32_t active, bool condition) {
  uint32_t seen;
  asm volatile(
      "{\n\t"
      ".reg .pred holds;\n\t"
      "setp.ne.u32 holds, %1, 0;\n\t"
      "mov.u32 %0, 0;\n\t"
      "@holds activemask.b32 %0;\n\t"
      "}"
      : "=&r"(seen)
      : "r"(static_cast<uint32_t>(condition)));
  return seen == active;
}

// Of the block, without what the system reserves.
CUVEIN_FAST uint32_t shared_bytes() {
  uint32_t bytes;
  asm("mov.u32 %0, %%total_smem_size;" : "=r"(bytes));
  return bytes;
}

CUVEIN_FAST uint32_t grid_of_launch() {
  uint64_t id;
  asm("mov.u64 %0, %%gridid;" : "=l"(id));
  return static_cast<uint32_t>(id);
}

// Says where the pointer points, which spares the compiler code for all other spaces.
template <typename T>
CUVEIN_FAST T* in_global(uint64_t address) {
  return reinterpret_cast<T*>(__cvta_global_to_generic(address));
}
template <typename T>
CUVEIN_FAST T* in_global(T* pointer) {
  return in_global<T>(reinterpret_cast<uint64_t>(pointer));
}

CUVEIN_FAST void pause() { __nanosleep(100); }

// Past the cache of the multiprocessor, which does not see what others write.
template <typename T>
CUVEIN_FAST T fresh(const T* at) {
  return *const_cast<const volatile T*>(at);
}
template <typename T>
CUVEIN_FAST void publish(T* at, T value) {
  *const_cast<volatile T*>(at) = value;
}

// Memory of the host is a microsecond away or more, so all is asked for before any of it is there.
template <typename T>
CUVEIN_FAST T fetch(const T* from) {
  static_assert(sizeof(T) % sizeof(Quad) == 0);
  union {
    Quad quads[sizeof(T) / sizeof(Quad)];
    T value;
  };
#pragma unroll
  for (uint32_t i = 0; i < sizeof(T) / sizeof(Quad); ++i)
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(quads[i].x), "=r"(quads[i].y), "=r"(quads[i].z), "=r"(quads[i].w)
                 : "l"(reinterpret_cast<const Quad*>(from) + i));
  return value;
}

CUVEIN_FAST void publish_quad(void* at, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}

}  // namespace gpu
}  // namespace cuvein
#endif
