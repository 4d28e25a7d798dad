// What single steps of a callback cost a multiprocessor whose warps do nothing else.
//
//   multiprocessor_steps
//
// Prints a JSON object a line: the step and the clock cycles (of the highest clock) that the multiprocessor
// needs for one of a warp, with 32 and with 64 warps, best of three. The loop around the steps costs what
// "nothing" does.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kTurns = 512;
constexpr uint32_t kWords = 1u << 23;  // of 8 bytes: more than the second-level cache holds

enum class Step {
  kNothing,
  kStackStore,
  kStackLoad,
  kStackStoreByOne,
  kMatchOne,
  kMatchFour,
  kMatchAll,
  kBallot,
  kActiveMask,
  kShuffle,
  kExchange,
  kExchangeAnywhere,
  kExchangeByOne,
  kAddShared,
  kAddOwn,
  kAddSites,
  kLoadUniform,
  kLoadVolatile,
  kFence,
  kCount
};

constexpr const char* kNames[] = {"nothing",
                                  "store to the stack",
                                  "load from the stack",
                                  "store to the stack by one lane",
                                  "match, one value",
                                  "match, 4 values",
                                  "match, 32 values",
                                  "ballot",
                                  "activemask",
                                  "shuffle",
                                  "exchange of 8 bytes by 32 lanes side by side",
                                  "exchange of 8 bytes by 32 lanes anywhere",
                                  "exchange of 8 bytes by one lane anywhere",
                                  "add by one lane, 4 multiprocessors at one address",
                                  "add by one lane, each multiprocessor at one address of its own",
                                  "add by one lane, each multiprocessor at 40 addresses of its own",
                                  "load of 16 bytes, all lanes one address",
                                  "volatile load, all lanes one address",
                                  "store by one lane and fence"};

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "multiprocessor_steps: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

__device__ void add_one(unsigned long long* address) {
  asm volatile("red.global.add.u64 [%0], 1;" ::"l"(address) : "memory");
}

template <Step kStep>
__global__ void repeat(unsigned long long* memory, uint32_t* result) {
  volatile uint32_t stack[16];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  for (uint32_t i = 0; i < 16; ++i) stack[i] = i;
  const uint64_t on_stack = __cvta_generic_to_local(const_cast<uint32_t*>(stack));
  uint32_t number = threadIdx.x + blockIdx.x * 7919u, sum = 0, value = 0;
#pragma unroll 1
  for (uint32_t i = 0; i < kTurns; ++i) {
    number = number * 1664525u + 1013904223u;
    const uint64_t place = on_stack + 4 * (i & 3);
    const uint32_t anywhere = number >> 8 & (kWords - 1);
    if (kStep == Step::kNothing) sum += number;
    if (kStep == Step::kStackStore || (kStep == Step::kStackStoreByOne && lane == 0))
      asm volatile("st.local.u32 [%0], %1;" ::"l"(place), "r"(number) : "memory");
    if (kStep == Step::kStackLoad) {
      asm volatile("ld.local.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
      sum += value;
    }
    if (kStep == Step::kMatchOne) sum += __match_any_sync(~0u, i);
    if (kStep == Step::kMatchFour) sum += __match_any_sync(~0u, i + lane % 4);
    if (kStep == Step::kMatchAll) sum += __match_any_sync(~0u, i + lane);
    if (kStep == Step::kBallot) sum += __ballot_sync(~0u, number >> 31);
    if (kStep == Step::kActiveMask) sum += __activemask();
    if (kStep == Step::kShuffle) sum += __shfl_sync(~0u, number, i & 31);
    if (kStep == Step::kExchange) {
      const uint32_t first = __shfl_sync(~0u, anywhere, 0) / 32 * 32;
      sum +=
          static_cast<uint32_t>(atomicExch(memory + first + lane, static_cast<unsigned long long>(number)));
    }
    if (kStep == Step::kExchangeAnywhere || (kStep == Step::kExchangeByOne && lane == 0))
      sum += static_cast<uint32_t>(atomicExch(memory + anywhere, static_cast<unsigned long long>(number)));
    if (lane == 0) {
      if (kStep == Step::kAddShared) add_one(memory + multiprocessor % 32 * 64);
      if (kStep == Step::kAddOwn) add_one(memory + multiprocessor * 64);
      if (kStep == Step::kAddSites) add_one(memory + multiprocessor * 8192 + (i * 7 + warp * 3) % 40 * 8);
    }
    if (kStep == Step::kLoadUniform) {
      const uint4 four = *reinterpret_cast<const uint4*>(memory + multiprocessor * 64 + 2 * (i & 3));
      sum += four.x + four.y + four.z + four.w;
      asm volatile("" ::: "memory");
    }
    if (kStep == Step::kLoadVolatile)
      sum += *reinterpret_cast<volatile uint32_t*>(memory + multiprocessor % 32 * 64);
    if (kStep == Step::kFence) {
      if (lane == 0) memory[multiprocessor * 64 + warp] = number;
      __threadfence();
    }
  }
  if (sum == 0x12345678) *result = stack[sum & 15];
}

template <int kNumber>
void measure(unsigned long long* memory, uint32_t* result, int multiprocessors, double kilohertz) {
  if constexpr (kNumber < static_cast<int>(Step::kCount)) {
    cudaEvent_t start, stop;
    check(cudaEventCreate(&start), "events");
    check(cudaEventCreate(&stop), "events");
    double cycles[2];
    for (int blocks = 1; blocks <= 2; ++blocks) {
      float best = 1e9f;
      for (int i = 0; i < 3; ++i) {
        check(cudaEventRecord(start), "events");
        repeat<static_cast<Step>(kNumber)><<<multiprocessors * blocks, 1024>>>(memory, result);
        check(cudaEventRecord(stop), "events");
        check(cudaDeviceSynchronize(), kNames[kNumber]);
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start, stop), "events");
        best = std::min(best, milliseconds);
      }
      cycles[blocks - 1] = best * kilohertz / (32.0 * blocks * kTurns);
    }
    std::printf("{\"step\": \"%s\", \"cycles_32_warps\": %.2f, \"cycles_64_warps\": %.2f}\n", kNames[kNumber],
                cycles[0], cycles[1]);
    measure<kNumber + 1>(memory, result, multiprocessors, kilohertz);
  }
}

}  // namespace

int main() {
  unsigned long long* memory;
  uint32_t* result;
  check(cudaMalloc(&memory, sizeof(*memory) * kWords), "memory");
  check(cudaMemset(memory, 0, sizeof(*memory) * kWords), "memory");
  check(cudaMalloc(&result, sizeof(*result)), "memory");
  int multiprocessors = 0, kilohertz = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "device");
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "device");
  measure<0>(memory, result, multiprocessors, kilohertz);
  return 0;
}
