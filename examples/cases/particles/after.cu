// A thread a particle. All particles of a field lie together.
#include "problem.h"

constexpr int kThreads = 256;

__global__ void drift(Fields particles) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  particles.x[i] += kStep * particles.vx[i];
  particles.y[i] += kStep * particles.vy[i];
  particles.z[i] += kStep * particles.vz[i];
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const FieldArrays particles(problem.particles);
  repeat(problem.times, [&] { drift<<<problem.count / kThreads, kThreads>>>(particles.get()); });
  return problem.finish(particles.host());
}
