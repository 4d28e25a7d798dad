// One block a row, which is read once and waits in registers for its mean and its variance.
#include "../block_reduce.h"
#include "problem.h"

constexpr int kThreads = 512;

__global__ void layer_norm(const float* input, const float* scale, const float* shift, float* output) {
  __shared__ float sums[kThreads / 32], squares[kThreads / 32];
  input += static_cast<size_t>(blockIdx.x) * kColumns;
  output += static_cast<size_t>(blockIdx.x) * kColumns;

  float row[kColumns / kThreads];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kColumns / kThreads; ++i) sum += row[i] = input[threadIdx.x + i * kThreads];
  const float mean = block_reduce<kThreads>(sum, sums, add) / kColumns;

  float square = 0;
#pragma unroll
  for (int i = 0; i < kColumns / kThreads; ++i) {
    const float difference = row[i] - mean;
    square += difference * difference;
  }
  const float norm = rsqrtf(block_reduce<kThreads>(square, squares, add) / kColumns + kEpsilon);

#pragma unroll
  for (int i = 0; i < kColumns / kThreads; ++i) {
    const int column = threadIdx.x + i * kThreads;
    output[column] = (row[i] - mean) * norm * scale[column] + shift[column];
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
