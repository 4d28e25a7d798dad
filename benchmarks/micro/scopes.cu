// One label each: what is touched again was touched last by nobody, the same thread, another lane in the same
// instruction, another lane, another warp, another block. Blocks of 128 threads. expectations.py has the
// graphs.
#include "micro.h"

constexpr int kThreads = 128;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void cold(const float* input, float* output) {
  const int i = index();
  const float value = input[i];  // @load
  output[i] = value;             // @store
}

// The first store may change what is loaded again, for all the compiler knows.
__global__ void thread(const float* input, float* output) {
  const int i = index();
  const float value = input[i];              // @load
  output[i] = value;                         // @store
  const float again = input[i];              // @again
  output[gridDim.x * kThreads + i] = again;  // @store_again
}

__global__ void warp_same_inst(const float* input, float* output) {
  const int i = index();
  const float value = input[i / 32];  // @load
  output[i] = value;                  // @store
}

__global__ void warp_diff_inst(float* output, float* other) {
  const int i = index();
  output[i] = static_cast<float>(i);  // @write
  __syncwarp();
  const float value = output[i ^ 1];  // @read
  other[i] = value;                   // @store
}

__global__ void block(float* output, float* other) {
  const int i = index();
  output[i] = static_cast<float>(i);  // @write
  __syncthreads();
  const float value = output[i ^ 32];  // @read
  other[i] = value;                    // @store
}

__global__ void grid(const float* input, float* output) {
  const float value = input[threadIdx.x];  // @load
  output[index()] = value;                 // @store
}

// The last block to finish adds up what all have left behind. Blocks of one warp.
__global__ void last_block(float* output, float* other, unsigned* finished) {
  const int lane = threadIdx.x;
  output[index()] = static_cast<float>(lane);  // @write
  __threadfence();
  unsigned ticket = 0;
  if (lane == 0) ticket = atomicInc(finished, gridDim.x - 1);  // @ticket
  if (__shfl_sync(~0u, ticket, 0) != gridDim.x - 1) return;
  __threadfence();
  float sum = 0;
#pragma unroll 1
  for (unsigned b = 0; b < gridDim.x; ++b) {
    sum += output[b * 32 + lane];  // @read
  }
  other[lane] = sum;  // @store
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"cold",
           {"blocks"},
           [](const Memory& m, const int* p) {
             cold<<<p[0], kThreads>>>(m.input<float>(), m.output<float>());
           }},
          {"thread",
           {"blocks"},
           [](const Memory& m, const int* p) {
             thread<<<p[0], kThreads>>>(m.input<float>(), m.output<float>());
           }},
          {"warp_same_inst",
           {"blocks"},
           [](const Memory& m, const int* p) {
             warp_same_inst<<<p[0], kThreads>>>(m.input<float>(), m.output<float>());
           }},
          {"warp_diff_inst",
           {"blocks"},
           [](const Memory& m, const int* p) {
             warp_diff_inst<<<p[0], kThreads>>>(m.output<float>(), m.other<float>());
           }},
          {"block",
           {"blocks"},
           [](const Memory& m, const int* p) {
             block<<<p[0], kThreads>>>(m.output<float>(), m.other<float>());
           }},
          {"grid",
           {"blocks"},
           [](const Memory& m, const int* p) {
             grid<<<p[0], kThreads>>>(m.input<float>(), m.output<float>());
           }},
          {"last_block",
           {"blocks"},
           [](const Memory& m, const int* p) {
             last_block<<<p[0], 32>>>(m.output<float>(), m.other<float>(), m.counter());
           }},
      },
      argc, argv);
}
