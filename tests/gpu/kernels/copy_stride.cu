// copy_stride STRIDE: copies every STRIDE-th of 4096 floats, guarded, blocks of 256 threads, for a STRIDE of
// 1 to 32. 4096 / STRIDE active lanes in all; a full warp touches min(32, 4 STRIDE) sectors for the 4 that
// its bytes fill. Everything is cold.
#include "common.h"

constexpr int kSize = 4096;

__global__ void copy_stride(const float* input, float* output, int stride) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
  if (i < kSize) {
    const float value = input[i];  // @read
    output[i] = value;             // @write
  }
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int stride = arguments.number("stride", 2);
  arguments.done();

  std::vector<float> values(kSize), expected(kSize, 0.0f);
  for (int i = 0; i < kSize; ++i) values[i] = static_cast<float>(i);
  for (int i = 0; i < kSize; i += stride) expected[i] = values[i];
  Array<float> input(values), output(std::vector<float>(kSize, 0.0f));
  copy_stride<<<kSize / 256, 256>>>(input.get(), output.get(), stride);
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
