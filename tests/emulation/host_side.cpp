// The monitor behind the ring, without a GPU: launches are opened, the counts of the GPU engine come through
// the ring, and the program waits for each launch as one does that synchronises.
//
//   host_side FOLDER LAUNCHES MODE
//     finish  ends as programs do
//     leave   ends without ceremony once it knows that the last launch is done
//     full    no file can be written any more, but for the journal, which is there
//     many    like finish, with more allocations than are packed
//     tell    writes the number of each launch that it knows to be done, as four bytes
// Says how long it waited for a launch, in microseconds.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "model/gpu_engine.h"
#include "monitor/drain.h"
#include "monitor/output.h"
#include "profile/counted.h"

using namespace cuvein;

namespace {

constexpr uint64_t kRing = 1 << 16;
constexpr uint32_t kInstructions = 12;
constexpr uint64_t kMemory = 0x7f0000000000;

alignas(128) uint8_t ring[kRing + 128];

// What the patches do.
class Device {
 public:
  explicit Device(uint64_t* consumed) : consumed_(consumed) {}

  void send(uint32_t slot, RecordKind kind, uint64_t key, uint64_t count) {
    RecordHeader record = {};
    record.length = sizeof record / kRecordUnit;
    record.kind = kind;
    record.launch = slot;
    record.address = key;
    record.value = static_cast<int64_t>(count);
    while (position_ + sizeof record > *static_cast<volatile uint64_t*>(consumed_) + kRing) {
    }
    uint64_t words[sizeof record / 8];
    std::memcpy(words, &record, sizeof record);
    for (const uint64_t word : words) {
      *reinterpret_cast<volatile uint64_t*>(ring + (position_ & (kRing - 1))) = word;
      position_ += 8;
    }
  }

  void run(uint32_t slot, uint32_t launch) {
    const auto count = static_cast<RecordKind>(gpu::kCountRecord);
    for (uint32_t i = 0; i < kInstructions; ++i) {
      uint64_t cold = 0;  // lanes
      for (uint32_t lanes = 1; lanes <= 32; lanes += 1 + i) {
        const uint64_t executions = 1 + launch % 5;
        send(slot, count,
             gpu::node_count(gpu::Count::kExecutions, Space::kGlobal,
                             i % 3 ? AccessType::kRead : AccessType::kWrite, false, false, i, 2,
                             gpu::global_facts(lanes, lanes, lanes, 1 + i % 3)),
             executions);
        cold += lanes * executions;
      }
      const auto edge = [&](uint32_t origin, Label label, uint64_t lanes) {
        send(slot, count,
             gpu::edge_count(gpu::Count::kLanes, Space::kGlobal, i, gpu::edge_key(origin, label, i % 2), 2),
             lanes);
        cold -= lanes;
      };
      for (uint32_t origin = 1; origin <= i; ++origin) edge(origin, Label::kBlock, 1 + launch % 3);
      edge(0, Label::kCold, cold);
    }
    send(slot, count, uint64_t{static_cast<uint64_t>(gpu::Count::kFindings)} << 60,
         launch % 7 == 0 ? gpu::kOutOfPages : 0);
    send(slot, RecordKind::kLaunchEnd, 0, 0);
  }

 private:
  uint64_t* const consumed_;
  uint64_t position_ = 0;
};

std::shared_ptr<const Entry> make_entry() {
  auto kernel = std::make_shared<Kernel>();
  kernel->name = "step(float*)";
  kernel->mangled = "_Z4stepPf";
  kernel->name_text = "\"step(float*)\"";
  kernel->mangled_text = "\"_Z4stepPf\"";
  auto entry = std::make_shared<Entry>();
  entry->kernel = kernel;
  entry->code = std::make_shared<Code>();
  entry->code->image = {'c', 'u', 'b', 'i', 'n'};
  entry->functions = {
      {R"json({"mangled":"_Z4stepPf","name":"step(float*)","offset":0,"size":4096})json", 0, 4096, false},
      {R"json({"mangled":"other","name":"other","offset":8192,"size":256})json", 8192, 256, false}};
  entry->packed_functions = packed(entry->functions);
  return entry;
}

std::shared_ptr<const AllocationList> make_allocations(size_t untouched) {
  std::vector<Allocation> list;
  for (uint64_t i = 0; i < 3 + untouched; ++i)
    list.push_back(
        {kMemory + i * 4096, 4096, AllocationKind::kDevice, i == 1 ? "table \"of\"" : "", nullptr, nullptr});
  return std::make_shared<AllocationList>(std::move(list));
}

DeviceFacts facts(int, Output* output) {
  output->driver("13.0");
  DeviceFacts device;
  device.name = "emulated";
  device.major = 9;
  device.multiprocessors = 132;
  device.memory = 1 << 30;
  return device;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto launches = static_cast<uint32_t>(std::atoi(argv[2]));
  const std::string mode = argv[3];
  Config config;
  config.output = argv[1];
  config.gpu = true;
  Output output(config);
  LaunchSlots slots;
  auto* consumed = reinterpret_cast<uint64_t*>(ring + kRing);
  Drain::fill(ring, kRing);
  *consumed = 0;
  Device device(consumed);
  Drain drain(ring, kRing, consumed, &slots, &output);
  drain.start(facts, 0);
  const std::shared_ptr<const Entry> entry = make_entry();
  const std::shared_ptr<const AllocationList> allocations = make_allocations(mode == "many" ? 300 : 0);
  output.module_loaded(entry->code);
  auto module = std::make_shared<Module>();
  std::chrono::nanoseconds waited{0};
  for (uint32_t sequence = 1; sequence <= launches; ++sequence) {
    auto launch = std::make_unique<Launch>();
    launch->entry = entry;
    launch->sequence = sequence;
    launch->module = module;
    launch->threads = 32;
    launch->allocations = allocations;
    ++module->open;
    const uint32_t slot = slots.open(std::move(launch));
    drain.wake();
    device.run(slot, sequence);
    const auto start = std::chrono::steady_clock::now();
    drain.settle(nullptr, true);
    output.settle();
    waited += std::chrono::steady_clock::now() - start;
    if (mode == "tell" && write(STDOUT_FILENO, &sequence, sizeof sequence) != sizeof sequence) return 1;
    if (mode == "full" && sequence == launches / 2) {
      const rlimit none = {0, 0};
      setrlimit(RLIMIT_FSIZE, &none);
    }
  }
  std::printf("%.1f\n", static_cast<double>(waited.count()) / 1e3 / launches);
  std::fflush(stdout);
  if (mode == "leave") _exit(0);
  drain.stop(100, true, "too late");
  output.finish();
  return module->open == 0 ? 0 : 1;
}
