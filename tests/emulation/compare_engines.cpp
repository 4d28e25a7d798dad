// Random launches through the GPU engine's device code, emulated, and through the host engine: the graphs
// must be equal in every number.
//
//   compare_engines FIRST_SEED LAUNCHES [--spoil]
#include <cstdio>
#include <cstring>
#include <random>
#include <sstream>
#include <string>

#include "graph_text.h"
#include "random_run.h"

using namespace cuvein;              // NOLINT: a test program
using namespace cuvein::comparison;  // NOLINT

namespace {

// Says where the graphs differ; false when they do not.
bool differs(Run* run, const Settings& settings, uint32_t seed, bool spoil) {
  uint32_t findings = 0;
  std::string on_gpu;
  try {
    on_gpu = text(run->gpu_graph(&findings), true, true);
  } catch (const std::exception& error) {
    on_gpu = error.what();
  }
  // Where lanes of a warp end at different times, when its copies are complete is not known.
  const Graph host = run->host_graph();
  const bool orders = gpu::kFollowsOrder && settings.orders;
  std::string on_host = text(host, (findings & gpu::kCopiesUnknown) == 0, orders);
  if (!merges(host, settings.allocations.size())) {
    std::printf("the graph of seed %u is not the sum of itself\n", seed);
    return true;
  }
  findings &= ~(gpu::kCopiesUnknown | gpu::kOrderFollowed | gpu::kOrderUnknown);
  if (spoil) ++on_host[on_host.find("bytes ") + 6];
  if (findings == 0 && on_gpu == on_host) return false;
  std::printf("launch of seed %u differs; findings %u, units %u, %u and %u, %u blocks of %u, shared %u\n",
              seed, findings, 1u << settings.global_shift, 1u << settings.shared_shift,
              1u << settings.local_shift, settings.blocks, settings.threads, settings.shared);
  std::istringstream left(on_gpu), right(on_host);
  std::string a, b;
  for (int shown = 0; shown < 12;) {
    const bool more_left = static_cast<bool>(std::getline(left, a));
    const bool more_right = static_cast<bool>(std::getline(right, b));
    if (!more_left && !more_right) break;
    if (!more_left) a.clear();
    if (!more_right) b.clear();
    if (a == b) continue;
    std::printf("  gpu:  %s\n  host: %s\n", a.c_str(), b.c_str());
    ++shown;
  }
  return true;
}

// Two launches at the same time, each on an engine of its own, and one that finds its engine taken.
bool overlap(Device* one, Device* other, uint32_t seed, uint32_t slot, bool graph) {
  std::mt19937 random(seed);
  const Settings first = settings_for(random), second = settings_for(random);
  // Two kernels of a replay share a slot; other launches have their own.
  Run a(one, &random, first, slot, graph ? seed * 8 + 1 : 0);
  Run b(other, &random, second, graph ? slot : slot + 1, graph ? seed * 8 + 2 : 0);
  Run late(one, &random, second, graph ? slot : slot + 2, graph ? seed * 8 + 3 : 0);
  for (uint32_t i = 0; i < 200; ++i) {
    (random() % 2 ? a : b).step();
    if (i == 100 && a.running() && late.is_on_gpu()) {
      std::printf("a launch of seed %u took an engine that another one had\n", seed);
      return true;
    }
  }
  a.end();
  b.end();
  return differs(&a, first, seed, false) || differs(&b, second, seed, false);
}

// Kernels that are launched again and again, in other shapes and with other memory, so that a launch finds
// sites that earlier ones have left. At the end of each nothing is counted at a site any more.
bool again(Device* device, uint32_t seed, uint32_t slot, uint32_t launches) {
  std::mt19937 random(seed);
  std::vector<Settings> kernels;
  for (uint32_t i = 0; i < 4; ++i) kernels.push_back(settings_for(random));
  for (uint32_t i = 0; i < launches; ++i) {
    Settings& settings = kernels[random() % kernels.size()];
    if (random() % 3 == 0) vary(random, &settings);
    if (random() % 30 == 0) device->clear_sites();
    Run run(device, &random, settings, slot + i, 0);
    run.go((5 + random() % 60) * (settings.usual ? 4 : 1));
    if (differs(&run, settings, seed, false)) return true;
    if (device->counts()) {
      std::printf("a launch of seed %u left counts behind\n", seed);
      return true;
    }
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t first = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1;
  const uint32_t launches = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 20;
  const bool spoil = argc > 3 && std::strcmp(argv[3], "--spoil") == 0;  // to see that it is noticed
  Ring ring;
  Device device(&ring), second(&ring);
  for (uint32_t i = 0; i < launches; ++i) {
    std::mt19937 random(first + i);
    const Settings settings = settings_for(random);
    // Kernels of graphs share slots.
    const bool graph = random() % 3 == 0;
    Run run(&device, &random, settings, graph ? 5000 + i / 8 : i, graph ? first + i : 0);
    run.go((20 + random() % 400) * (settings.usual ? 5 : 1));
    if (differs(&run, settings, first + i, spoil)) return 1;
    if (i % 4 == 0 && overlap(&device, &second, first + i, 10000 + 3 * i, graph)) return 1;
  }
  if (again(&device, first, 40000, launches)) return 1;
  std::printf("%u launches agree\n", launches);
  return 0;
}
