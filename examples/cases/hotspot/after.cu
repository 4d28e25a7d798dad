// All that a block needs for its steps lies in shared memory: temperatures, power, and the temperatures to
// come.
#include "problem.h"

__global__ void hotspot(const float* temperature, const float* power, float* output, int n) {
  __shared__ float now[kTile][kTile];
  float heating = 0, next = 0;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x = blockIdx.x * kInside + tx - kSteps, y = blockIdx.y * kInside + ty - kSteps;
  const bool exists = x >= 0 && x < n && y >= 0 && y < n;
  const int index = y * n + x;
  if (exists) {
    now[ty][tx] = temperature[index];
    heating = power[index];
  }
  __syncthreads();

  // At the edge of the chip a cell is its own neighbour.
  const int west = x > 0 ? tx - 1 : tx, east = x < n - 1 ? tx + 1 : tx;
  const int north = y > 0 ? ty - 1 : ty, south = y < n - 1 ? ty + 1 : ty;
  bool computed = false;
  for (int step = 1; step <= kSteps; ++step) {
    computed = exists && tx >= step && tx < kTile - step && ty >= step && ty < kTile - step;
    if (computed) {
      const float here = now[ty][tx];
      const float around = now[north][tx] + now[south][tx] + now[ty][west] + now[ty][east];
      next = here + kSpread * (around - 4 * here) + kFlow * (kAround - here) + heating;
    }
    __syncthreads();
    if (step == kSteps) break;
    if (computed) now[ty][tx] = next;
    __syncthreads();
  }
  if (computed) output[index] = next;
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> temperature(problem.temperature), power(problem.power);
  const Array<float> output(problem.temperature.size());
  repeat(problem.times, [&] {
    hotspot<<<problem.grid(), dim3(kTile, kTile)>>>(temperature.get(), power.get(), output.get(), problem.n);
  });
  return problem.finish(output.host());
}
