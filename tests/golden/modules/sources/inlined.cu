// Inlined functions of a header and of this file, a kernel template, a __device__ variable.
#include "scaling.cuh"

__device__ float table[256];

__device__ __forceinline__ float twice(const float* x, int i) {
  return scale(x[i], 2.0f) + gather<float, 2>(x, i);
}

template <typename T>
__global__ void combine(T* out, const T* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = twice(in, i) + table[i & 255];
  }
}

template __global__ void combine<float>(float*, const float*, int);

__global__ void reset(float* out) { out[threadIdx.x] = 1.0f; }
