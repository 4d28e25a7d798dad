// Linked with library_part.cu, which is compiled apart.
#include "scaling.cuh"

__device__ float library(const float* x, int i);

__global__ void linked(float* out, const float* x) {
  out[threadIdx.x] = library(x, threadIdx.x) + scale(x[3], x[4]);
}
