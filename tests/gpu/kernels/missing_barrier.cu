// Two ways to leave out a barrier, each with the repaired twin. Their results are not checked: they race.
//
// publish: one thread writes two words of shared memory, all 128 threads read them. The last warp reads
// first, straight after the write, the others a moment later: the last warp's read meets the write of thread
// 0, block 8 bytes. Without the barrier those 8 bytes are unordered, with it ordered.
//
// tiles: in each of S steps a thread writes its slot, and after a barrier reads the slot of the warp beside.
// Without a barrier after the read, the next write races with it. Whichever comes first, each of the 4 * 128
// (S - 1) bytes has one unordered edge: the write meets the read (write after read) or the read meets the
// write.
#include "common.h"

constexpr int kThreads = 128;

// Keeps the warps a visible distance apart.
__device__ void wait_milliseconds(unsigned count) {
  for (unsigned i = 0; i < count; ++i) __nanosleep(1000000);
}

template <bool kBarrier>
__device__ void publish_words(int* output) {
  __shared__ int words[2];
  volatile int* word = words;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    word[0] = 3;  // @first
    word[1] = 4;  // @second
  }
  if (kBarrier) __syncthreads();
  wait_milliseconds(warp == kThreads / 32 - 1 ? 10 : 100 + 10 * warp);
  const int sum = word[0] + word[1];  // @read
  output[threadIdx.x] = sum;          // @store
}

__global__ void publish(int* output) { publish_words<true>(output); }

__global__ void publish_racy(int* output) { publish_words<false>(output); }

template <bool kBarrier>
__device__ void step_tiles(int* output, int steps) {
  __shared__ int slots[kThreads];
  volatile int* slot = slots;
  int sum = 0;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    slot[threadIdx.x] = step;  // @write
    __syncthreads();
    sum += slot[(threadIdx.x + 32) % kThreads];  // @neighbour
    if (kBarrier) __syncthreads();
  }
  output[threadIdx.x] = sum;  // @sum
}

__global__ void tiles(int* output, int steps) { step_tiles<true>(output, steps); }

__global__ void tiles_racy(int* output, int steps) { step_tiles<false>(output, steps); }

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int steps = arguments.number("steps", 8);
  arguments.done();

  Array<int> output(kThreads);
  publish<<<1, kThreads>>>(output.get());
  publish_racy<<<1, kThreads>>>(output.get());
  tiles<<<1, kThreads>>>(output.get(), steps);
  tiles_racy<<<1, kThreads>>>(output.get(), steps);
  CHECK_KERNEL();
  return finish(true);
}
