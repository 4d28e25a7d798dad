// A thread a pixel. All threads read the same components.
#include "problem.h"

constexpr int kThreads = 256;

__global__ void likelihood(const float* red, const float* green, const float* blue,
                           const Component* components, float* results) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const float r = red[i], g = green[i], b = blue[i];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kComponents; ++k) {
    const float dr = r - components[k].red, dg = g - components[k].green, db = b - components[k].blue;
    sum +=
        components[k].weight * exp2f(dr * dr * components[k].red_scale + dg * dg * components[k].green_scale +
                                     db * db * components[k].blue_scale);
  }
  results[i] = sum;
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> red(problem.red), green(problem.green), blue(problem.blue), results(problem.pixels);
  const Array<Component> components(problem.components);
  repeat(problem.times, [&] {
    likelihood<<<problem.pixels / kThreads, kThreads>>>(red.get(), green.get(), blue.get(), components.get(),
                                                        results.get());
  });
  return problem.finish(results.host());
}
