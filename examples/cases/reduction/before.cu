// One block a row: each thread adds up its share, then a tree in shared memory adds up the threads'.
#include "problem.h"

__global__ void moments(const float* input, float2* output) {
  __shared__ float sums[kThreads], squares[kThreads];
  const int thread = threadIdx.x;
  float sum = 0, square = 0;
  for (int column = thread; column < kColumns; column += kThreads) {
    const float value = input[static_cast<size_t>(blockIdx.x) * kColumns + column];
    sum += value;
    square += value * value;
  }
  sums[thread] = sum;
  squares[thread] = square;
  __syncthreads();
  for (int distance = kThreads / 2; distance > 0; distance /= 2) {
    if (thread < distance) {
      sums[thread] += sums[thread + distance];
      squares[thread] += squares[thread + distance];
    }
    __syncthreads();
  }
  if (thread == 0) output[blockIdx.x] = make_float2(sums[0], squares[0]);
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> input(problem.values);
  const Array<float2> output(problem.rows);
  repeat(problem.times, [&] { moments<<<problem.rows, kThreads>>>(input.get(), output.get()); });
  return problem.finish(output.host());
}
