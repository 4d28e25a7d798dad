// One value of all threads of a block, for the cases that reduce rows.
#pragma once

__device__ inline float add(float a, float b) { return a + b; }
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }

// Combines a value of each thread; all threads get the result. `partial` has a word for each warp and belongs
// to this call alone, so one barrier is enough. The block is made of 32 warps or a power of two below.
template <int kThreads, class Combine>
__device__ float block_reduce(float value, float* partial, Combine combine) {
  constexpr int kWarps = kThreads / 32;
  for (int distance = 16; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(~0u, value, distance));
  }
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[threadIdx.x % kWarps];
  for (int distance = kWarps / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(~0u, value, distance));
  }
  return value;
}
