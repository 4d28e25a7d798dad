// A thread a point. All read the same atom at the same time.
#include "problem.h"

constexpr int kThreads = 256;

__global__ void potential(const float4* __restrict__ atoms, int count, float* points, int side) {
  const int point = blockIdx.x * kThreads + threadIdx.x;
  const float x = kSpacing * (point % side), y = kSpacing * (point / side);
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    const float4 atom = atoms[i];
    const float dx = x - atom.x, dy = y - atom.y;
    sum += atom.w * rsqrtf(dx * dx + dy * dy + atom.z * atom.z);
  }
  points[point] = sum;
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float4> atoms(problem.atoms);
  const Array<float> points(problem.points());
  const int blocks = static_cast<int>(problem.points() / kThreads);
  repeat(problem.times,
         [&] { potential<<<blocks, kThreads>>>(atoms.get(), problem.count, points.get(), problem.side); });
  return problem.finish(points.host());
}
