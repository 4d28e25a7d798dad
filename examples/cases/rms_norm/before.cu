// One block a row: a pass over the row for the sum of squares, and one that scales it.
#include "../block_reduce.h"
#include "problem.h"

constexpr int kThreads = 256;

__global__ void rms_norm(const float* input, const float* weights, float* output) {
  __shared__ float sums[kThreads / 32];
  input += static_cast<size_t>(blockIdx.x) * kColumns;
  output += static_cast<size_t>(blockIdx.x) * kColumns;

  float sum = 0;
  for (int column = threadIdx.x; column < kColumns; column += kThreads) {
    const float value = input[column];
    sum += value * value;
  }
  sum = block_reduce<kThreads>(sum, sums, add);

  const float scale = rsqrtf(sum / kColumns + kEpsilon);
  for (int column = threadIdx.x; column < kColumns; column += kThreads) {
    output[column] = input[column] * scale * weights[column];
  }
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> input(problem.values), weights(problem.weights), output(problem.values.size());
  repeat(problem.times,
         [&] { rms_norm<<<problem.rows, kThreads>>>(input.get(), weights.get(), output.get()); });
  return problem.finish(output.host());
}
