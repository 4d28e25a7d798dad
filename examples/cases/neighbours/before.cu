// A thread a query. The nearest so far are kept in order, in an array indexed at run time.
#include <algorithm>

#include "problem.h"

constexpr int kThreads = 128, kMost = 16;

__global__ void search(const float4* queries, const float4* points, int count, int nearest,
                       float* distances) {
  const int query = blockIdx.x * kThreads + threadIdx.x;
  const float4 here = queries[query];
  float best[kMost];
  for (int k = 0; k < nearest; ++k) best[k] = INFINITY;
  for (int i = 0; i < count; ++i) {
    const float dx = here.x - points[i].x, dy = here.y - points[i].y, dz = here.z - points[i].z;
    const float distance = dx * dx + dy * dy + dz * dz;
    if (distance >= best[nearest - 1]) continue;
    int k = nearest - 1;
    for (; k > 0 && best[k - 1] > distance; --k) best[k] = best[k - 1];
    best[k] = distance;
  }
  for (int k = 0; k < nearest; ++k) distances[k * gridDim.x * kThreads + query] = best[k];
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float4> queries(problem.queries), points(problem.points);
  const Array<float> distances(problem.results());
  repeat(problem.times, [&] {
    search<<<problem.queries_count / kThreads, kThreads>>>(queries.get(), points.get(), problem.points_count,
                                                           kNearest, distances.get());
  });
  return problem.finish(distances.host());
}
