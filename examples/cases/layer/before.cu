// Inputs and weights are staged in shared memory, a tile of inputs at a time, as in a matrix product.
#include "problem.h"

constexpr int kStage = 32;

__global__ void layer(const float* weights, const float* values, float* partial, int outputs) {
  __shared__ float value[kStage], weight[kStage][kThreads];
  const int output = blockIdx.x * kThreads + threadIdx.x;
  const int first = blockIdx.y * kInputs;
  float sum = 0;
  for (int start = first; start < first + kInputs; start += kStage) {
    if (threadIdx.x < kStage) value[threadIdx.x] = values[start + threadIdx.x];
#pragma unroll
    for (int i = 0; i < kStage; ++i) {
      weight[i][threadIdx.x] = weights[static_cast<size_t>(start + i) * outputs + output];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kStage; ++i) sum += value[i] * weight[i][threadIdx.x];
    __syncthreads();
  }
  partial[blockIdx.y * outputs + output] = sum;
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> weights(problem.weights), values(problem.values);
  const Array<float> partial(static_cast<size_t>(problem.parts()) * problem.outputs);
  repeat(problem.times, [&] {
    layer<<<problem.grid(), kThreads>>>(weights.get(), values.get(), partial.get(), problem.outputs);
  });
  return problem.finish(partial.host());
}
