// One block a row, which is read once and waits in registers until the sum of squares is known.
#include "../block_reduce.h"
#include "problem.h"

constexpr int kThreads = 256;

__global__ void rms_norm(const float* input, const float* weights, float* output) {
  __shared__ float sums[kThreads / 32];
  input += static_cast<size_t>(blockIdx.x) * kColumns;
  output += static_cast<size_t>(blockIdx.x) * kColumns;

  float row[kColumns / kThreads];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kColumns / kThreads; ++i) {
    row[i] = input[threadIdx.x + i * kThreads];
    sum += row[i] * row[i];
  }
  sum = block_reduce<kThreads>(sum, sums, add);

  const float scale = rsqrtf(sum / kColumns + kEpsilon);
#pragma unroll
  for (int i = 0; i < kColumns / kThreads; ++i) {
    const int column = threadIdx.x + i * kThreads;
    output[column] = row[i] * scale * weights[column];
  }
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> input(problem.values), weights(problem.weights), output(problem.values.size());
  repeat(problem.times,
         [&] { rms_norm<<<problem.rows, kThreads>>>(input.get(), weights.get(), output.get()); });
  return problem.finish(output.host());
}
