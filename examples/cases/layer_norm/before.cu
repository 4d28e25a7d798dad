// One block a row and three passes over it: the mean, the variance around it, the result.
#include "../block_reduce.h"
#include "problem.h"

constexpr int kThreads = 512;

__global__ void layer_norm(const float* input, const float* scale, const float* shift, float* output) {
  __shared__ float sums[kThreads / 32], squares[kThreads / 32];
  input += static_cast<size_t>(blockIdx.x) * kColumns;
  output += static_cast<size_t>(blockIdx.x) * kColumns;

  float sum = 0;
  for (int column = threadIdx.x; column < kColumns; column += kThreads) sum += input[column];
  const float mean = block_reduce<kThreads>(sum, sums, add) / kColumns;

  float square = 0;
  for (int column = threadIdx.x; column < kColumns; column += kThreads) {
    const float difference = input[column] - mean;
    square += difference * difference;
  }
  const float norm = rsqrtf(block_reduce<kThreads>(square, squares, add) / kColumns + kEpsilon);

  for (int column = threadIdx.x; column < kColumns; column += kThreads) {
    output[column] = (input[column] - mean) * norm * scale[column] + shift[column];
  }
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> input(problem.values), output(problem.values.size());
  const Array<float> scale(problem.scale), shift(problem.shift);
  repeat(problem.times, [&] {
    layer_norm<<<problem.rows, kThreads>>>(input.get(), scale.get(), shift.get(), output.get());
  });
  return problem.finish(output.host());
}
