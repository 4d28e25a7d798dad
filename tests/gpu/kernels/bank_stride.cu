// A warp writes consecutive words of shared memory and reads with a stride of four words: 4 lanes meet in
// each bank. Two blocks of one warp. Write: 1 wavefront, ideal 1. Read: 4 wavefronts, ideal 1; 6 in excess
// over the launch. Per block the read finds 8 of the 32 words written (lane 0 its own: thread 4,
// warp_diff_inst 28), the rest cold 96.
#include "common.h"

__global__ void bank_stride(float* output) {
  __shared__ float words[128];
  volatile float* word = words;
  word[threadIdx.x] = static_cast<float>(threadIdx.x);  // @write
  __syncthreads();
  const float value = word[4 * threadIdx.x];                    // @read
  output[blockIdx.x * 32 + threadIdx.x] = value == -1 ? 1 : 0;  // @store
}

int main() {
  Array<float> output(64);
  bank_stride<<<2, 32>>>(output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), std::vector<float>(64, 0.0f)));
}
