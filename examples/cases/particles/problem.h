// Drift: every particle of a simulation moves on by its velocity.
//
//   PROGRAM [particles] [--repeat N]
#pragma once

#include "../case.h"

constexpr float kStep = 0.125F;

struct Particle {
  float x, y, z;
  float vx, vy, vz;
  float fx, fy, fz;
  float mass, charge, radius;
  int id, kind, cell, flags;
};

// What the drift needs of the particles, an array for each field.
struct Fields {
  float *x, *y, *z;
  float *vx, *vy, *vz;
};

class FieldArrays {
 public:
  explicit FieldArrays(const std::vector<Particle>& particles)
      : particles_(particles),
        x_(field(&Particle::x)),
        y_(field(&Particle::y)),
        z_(field(&Particle::z)),
        vx_(field(&Particle::vx)),
        vy_(field(&Particle::vy)),
        vz_(field(&Particle::vz)) {}

  Fields get() const { return {x_.get(), y_.get(), z_.get(), vx_.get(), vy_.get(), vz_.get()}; }
  std::vector<Particle> host() const {
    std::vector<Particle> particles(particles_);
    const std::vector<float> x = x_.host(), y = y_.host(), z = z_.host();
    for (size_t i = 0; i < particles.size(); ++i) {
      particles[i].x = x[i], particles[i].y = y[i], particles[i].z = z[i];
    }
    return particles;
  }

 private:
  std::vector<float> field(float Particle::* member) const {
    std::vector<float> values;
    for (const Particle& particle : particles_) values.push_back(particle.*member);
    return values;
  }

  const std::vector<Particle>& particles_;
  Array<float> x_, y_, z_, vx_, vy_, vz_;
};

struct Problem {
  int count;
  int times;
  std::vector<Particle> particles;

  Problem(int words, char** word) {
    Arguments arguments(words, word);
    times = repetitions(arguments);
    count = arguments.number("particles", 1 << 21, 256);
    arguments.done();
    for (int i = 0; i < count; ++i) {
      Particle particle{};
      // Whole numbers, and a step of a power of two: the result is exact after any number of steps.
      particle.x = static_cast<float>(i % 1009);
      particle.y = static_cast<float>(i % 1013);
      particle.z = static_cast<float>(i % 1019);
      particle.vx = static_cast<float>(i % 7 - 3);
      particle.vy = static_cast<float>(i % 11 - 5);
      particle.vz = static_cast<float>(i % 13 - 6);
      particle.id = i;
      particles.push_back(particle);
    }
  }

  int finish(const std::vector<Particle>& moved) const {
    const float time = kStep * static_cast<float>(times);
    std::vector<float> found, expected;
    for (int i = 0; i < count; ++i) {
      const Particle &to = moved[i], &from = particles[i];
      found.insert(found.end(), {to.x, to.y, to.z});
      expected.insert(expected.end(),
                      {from.x + time * from.vx, from.y + time * from.vy, from.z + time * from.vz});
    }
    return ::finish(agree("positions", found, expected));
  }
};
