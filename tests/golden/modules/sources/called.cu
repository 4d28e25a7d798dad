// A device function that two kernels call and that is not inlined.
__device__ __noinline__ float lookup(const float* table, int i) {
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < i; ++k) {
    sum += table[k * k];
  }
  return sum;
}

extern "C" __global__ void twice_called(float* out, const float* table) {
  out[threadIdx.x] = lookup(table, threadIdx.x) + lookup(table + 7, threadIdx.x + 1);
}

extern "C" __global__ void once_called(float* out, const float* table) {
  out[threadIdx.x] = lookup(table, 3);
}
