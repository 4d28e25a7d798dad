#include "scaling.cuh"

__device__ float library(const float* x, int i) { return gather<float, 3>(x, i) + scale(x[i], 3.0f); }
