// Vector loads whose last word nobody uses. The instruction moves 16 bytes a lane all the same: 512 bytes, 16
// sectors and 4 wavefronts for a warp, not three quarters of that.
#include "common.h"

__global__ void unused_word(const float4* points, float* output) {
  __shared__ float4 staged[32];
  staged[threadIdx.x] = points[threadIdx.x];     // @stage
  const float4 next = points[threadIdx.x + 32];  // @three
  __syncthreads();
  const float4 other = staged[31 - threadIdx.x];                                        // @read
  output[threadIdx.x] = next.x + next.y + next.z - (other.x + other.y + other.z) + 96;  // @store
}

int main() {
  std::vector<float4> points(64);
  for (int i = 0; i < 64; ++i) points[i] = make_float4(i, i, i, -1);
  Array<float4> given(points);
  Array<float> output(32);
  unused_word<<<1, 32>>>(given.get(), output.get());
  CHECK_KERNEL();
  std::vector<float> expected(32);
  for (int i = 0; i < 32; ++i) expected[i] = static_cast<float>(3 * (i + 32) - 3 * (31 - i) + 96);
  return finish(agree("output", output.host(), expected));
}
