// tiny_launches: what a launch of a tiny kernel takes: on the GPU's clock (median, and of many in a row),
// until the host may go on, until all are done, and where the host waits for each; device memory that the
// first brought with it. Microseconds and MiB.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

__global__ void tiny(int* words) { words[threadIdx.x] += 1; }

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

int main() {
  int* words = nullptr;
  cudaEvent_t before, after;
  if (cudaMalloc(&words, 128) != cudaSuccess || cudaMemset(words, 0, 128) != cudaSuccess ||
      cudaEventCreate(&before) != cudaSuccess || cudaEventCreate(&after) != cudaSuccess)
    return 1;
  const auto launch = [words](int count) {
    for (int i = 0; i < count; ++i) tiny<<<1, 32>>>(words);
  };
  size_t free_before = 0, free_after = 0, total = 0;
  cudaMemGetInfo(&free_before, &total);
  Clock::time_point start = Clock::now();
  launch(1);
  cudaDeviceSynchronize();
  const double first = since(start);
  cudaMemGetInfo(&free_after, &total);

  launch(50);
  cudaDeviceSynchronize();
  float milliseconds = 0;
  std::vector<float> times;
  for (int i = 0; i < 200; ++i) {
    cudaEventRecord(before);
    launch(1);
    cudaEventRecord(after);
    cudaDeviceSynchronize();
    cudaEventElapsedTime(&milliseconds, before, after);
    times.push_back(milliseconds * 1000);
  }
  std::sort(times.begin(), times.end());
  start = Clock::now();
  for (int i = 0; i < 200; ++i) {
    launch(1);
    cudaDeviceSynchronize();
  }
  const double waited = since(start) / 200;
  start = Clock::now();
  launch(2000);
  const double issued = since(start) / 2000;
  cudaDeviceSynchronize();
  const double done = since(start) / 2000;
  cudaEventRecord(before);
  launch(500);
  cudaEventRecord(after);
  cudaDeviceSynchronize();
  cudaEventElapsedTime(&milliseconds, before, after);
  std::printf(
      "first %.0f, memory %zu; on the GPU's clock %.2f, in a row %.2f; issued %.1f, done %.1f, waited for "
      "%.1f\n",
      first, (free_before - free_after) >> 20, times[100], milliseconds * 2, issued, done, waited);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
