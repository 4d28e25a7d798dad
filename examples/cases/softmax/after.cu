// One block a row. The row waits in registers while its maximum and its sum are found.
#include "../block_reduce.h"
#include "problem.h"

constexpr int kThreads = 256;

__global__ void softmax(const float* input, float* output) {
  __shared__ float greatest[kThreads / 32], sums[kThreads / 32];
  float row[kColumns / kThreads];
  input += static_cast<size_t>(blockIdx.x) * kColumns;
  output += static_cast<size_t>(blockIdx.x) * kColumns;

  float limit = -INFINITY;
#pragma unroll
  for (int start = 0; start < kColumns; start += kThreads) {
    const int column = start + threadIdx.x;
    row[start / kThreads] = input[column];
    limit = fmaxf(limit, row[start / kThreads]);
  }
  limit = block_reduce<kThreads>(limit, greatest, larger);

  float sum = 0;
#pragma unroll
  for (int start = 0; start < kColumns; start += kThreads) {
    const int column = start + threadIdx.x;
    row[start / kThreads] = __expf(row[start / kThreads] - limit);
    sum += row[start / kThreads];
  }
  sum = block_reduce<kThreads>(sum, sums, add);

#pragma unroll
  for (int start = 0; start < kColumns; start += kThreads) {
    const int column = start + threadIdx.x;
    output[column] = row[start / kThreads] / sum;
  }
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> input(problem.values), output(problem.values.size());
  repeat(problem.times, [&] { softmax<<<problem.rows, kThreads>>>(input.get(), output.get()); });
  return problem.finish(output.host());
}
