// accumulate REPEATS: each of 256 threads in 2 blocks adds R values to its element of y in global memory,
// without keeping it in a register. Bytes by label, n = 512, W = 16:
//   load     y, read     cold 4 n, thread 4 n (R - 1) (from store)
//   store    y, write    thread 4 n R (from load)
//   gain     g, read     the same word for all: warp_same_inst 124 W R, cold 4 R, block or grid 4 R (W - 1)
#include "common.h"

__global__ void accumulate(float* y, const float* g, int repeats) {
  volatile float* mine = y + blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int r = 0; r < repeats; ++r) {
    const float gain = g[r];    // @gain
    const float value = *mine;  // @load
    *mine = value + gain;       // @store
  }
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int repeats = arguments.number("repeats", 8);
  arguments.done();

  std::vector<float> gains(repeats);
  float total = 0;
  for (int r = 0; r < repeats; ++r) total += gains[r] = static_cast<float>(r + 1);
  Array<float> y(std::vector<float>(512, 1.0f)), g(gains);
  accumulate<<<2, 256>>>(y.get(), g.get(), repeats);
  CHECK_KERNEL();
  return finish(agree("y", y.host(), std::vector<float>(512, 1 + total)));
}
