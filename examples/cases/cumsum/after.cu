// One block a row, a stretch of the row for each warp. It is read once and waits in registers
// until the sums of the stretches before it are known.
#include "problem.h"

constexpr int kWarps = 16;
constexpr int kSteps = kColumns / (kWarps * 32);

__device__ float warp_scan(float value, int lane) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const float other = __shfl_up_sync(~0u, value, distance);
    if (lane >= distance) value += other;
  }
  return value;
}

__global__ void cumsum(const float* input, float* output) {
  __shared__ float sums[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t start = static_cast<size_t>(blockIdx.x) * kColumns + warp * kSteps * 32 + lane;

  float kept[kSteps];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) sum += kept[i] = input[start + i * 32];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();

  const float all = warp_scan(lane < kWarps ? sums[lane] : 0, lane);
  float carry = __shfl_sync(~0u, all, (warp + 31) % 32);
  if (warp == 0) carry = 0;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const float value = warp_scan(kept[i], lane);
    output[start + i * 32] = carry + value;
    carry += __shfl_sync(~0u, value, 31);
  }
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> input(problem.values), output(problem.values.size());
  repeat(problem.times, [&] { cumsum<<<problem.rows, kWarps * 32>>>(input.get(), output.get()); });
  return problem.finish(output.host());
}
