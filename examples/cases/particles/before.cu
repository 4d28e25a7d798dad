// A thread a particle. All fields of a particle lie together.
#include "problem.h"

constexpr int kThreads = 256;

__global__ void drift(Particle* particles) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  particles[i].x += kStep * particles[i].vx;
  particles[i].y += kStep * particles[i].vy;
  particles[i].z += kStep * particles[i].vz;
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<Particle> particles(problem.particles);
  repeat(problem.times, [&] { drift<<<problem.count / kThreads, kThreads>>>(particles.get()); });
  return problem.finish(particles.host());
}
