// Random launches through the GPU engine's device code, emulated, and through the host engine: the graphs
// must be equal in every number.
//
//   compare_engines FIRST_SEED LAUNCHES [--spoil]
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include "analyzer/aggregate.h"
#include "analyzer/engine.h"
#include "analyzer/merge.h"
#include "patches/gpu_barriers.cuh"

using namespace cuvein;  // NOLINT: a test program

namespace {

constexpr uint32_t kMultiprocessorsUsed = 3;
constexpr uint64_t kRing = 8 << 20;
constexpr uint32_t kPages = 256;
constexpr int64_t kBase = -4096;

template <typename T>
T* zeroed(size_t count) {
  void* memory = mmap(nullptr, count * sizeof(T) + gpu::kPageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  const uint64_t address = reinterpret_cast<uint64_t>(memory);
  return reinterpret_cast<T*>((address + gpu::kPageBytes - 1) / gpu::kPageBytes * gpu::kPageBytes);
}

// The ring and what the host has read from it.
struct Ring {
  struct Launch {
    Aggregate counts;
    bool ended = false;
  };

  Ring() : memory(zeroed<uint8_t>(kRing)) { counters.limit = kRing; }

  void read() {
    while (taken < counters.reserved) {
      RecordHeader record;
      for (unsigned i = 0; i < sizeof record; i += 16)
        std::memcpy(reinterpret_cast<char*>(&record) + i, memory + ((taken + i) & (kRing - 1)), 16);
      taken += sizeof record;
      Launch& launch = launches[{record.launch, record.reserved}];
      if (record.kind == static_cast<RecordKind>(gpu::kCountRecord))
        launch.counts.add(record.address, static_cast<uint64_t>(record.value));
      else if (record.kind == RecordKind::kLaunchEnd)
        launch.ended = true;
    }
  }

  uint8_t* memory;
  uint64_t taken = 0;
  RingCounters counters = {};
  std::map<std::pair<uint32_t, uint32_t>, Launch> launches;  // by slot and grid
};

// A GPU engine.
struct Device {
  explicit Device(Ring* shared_ring) : ring(shared_ring) {
    char* memory = zeroed<char>(gpu::kMemoryBytes);
    channel = reinterpret_cast<Channel*>(memory);
    channel->ring = ring->memory;
    channel->mask = kRing - 1;
    channel->consumed = &ring->taken;
    channel->counters = &ring->counters;
    engine = reinterpret_cast<gpu::Engine*>(memory + gpu::kEngineOffset);
    parameters = zeroed<gpu::Parameters>(gpu::kParameters + gpu::kNodes);
    engine->parameters = parameters;
    node_keys = zeroed<uint64_t>(gpu::kNodes);
    engine->node_keys = node_keys;
    engine->decisions = zeroed<unsigned long long>(gpu::kParameters + gpu::kNodes);
    auto* shadow = zeroed<uint8_t>(kPages * gpu::kPageBytes);
    for (uint32_t i = 0; i < kPages; ++i)
      pages.push_back(reinterpret_cast<uint64_t>(shadow) + i * gpu::kPageBytes);
    engine->pages = pages.data();
    engine->page_count = &page_count;
    constexpr uint32_t places = gpu::kMultiprocessors * gpu::kBlocksPerMultiprocessor;
    engine->block_states = zeroed<gpu::Block>(places);
    engine->warps = zeroed<gpu::Warp>(places * gpu::kWarpsPerBlock);
    copies = zeroed<gpu::Copies>(places * gpu::kWarpsPerBlock);
    engine->locks = zeroed<uint32_t>(gpu::kMultiprocessors);
    engine->used = zeroed<uint32_t>(size_t{gpu::kAllCounters} + gpu::kCopies * gpu::kSites);
    shared_shadow = zeroed<uint64_t>(size_t{gpu::kMultiprocessors} * gpu::kSharedBytes);
  }

  // As the host does before generations are used again.
  void clear() {
    for (const uint64_t page : pages) madvise(reinterpret_cast<void*>(page), gpu::kPageBytes, MADV_DONTNEED);
  }

  Ring* ring;
  Channel* channel;
  gpu::Engine* engine;
  uint64_t* node_keys;
  gpu::Parameters* parameters;
  std::vector<uint64_t> pages;
  uint32_t page_count = kPages;
  uint64_t* shared_shadow;
  gpu::Copies* copies;
  uint32_t generation = 0;
};

struct Instruction {
  int32_t pc;
  Space space;
  AccessType type;
  uint32_t size_shift;
  bool copy;  // asynchronous: reads global memory, writes shared memory
  bool matrix;
};

struct Settings {
  uint32_t blocks, threads, shared;
  uint32_t grid[3], cluster[3];
  uint32_t global_shift, shared_shift, local_shift, synchronises;
  bool copies;  // asynchronous ones
  bool usual;   // mostly accesses whose lanes lie side by side or at one place
  std::vector<Instruction> instructions;
  std::vector<AllocationRange> allocations;
};

constexpr int32_t kBarrierPc = 16, kSyncPc = 32;
constexpr uint64_t kEntry = 0x7fe123450000, kMemory = 0x7f3000000000;

uint32_t existing(const Settings& settings, uint32_t warp) {
  const uint32_t threads = settings.threads - warp * 32;
  return threads >= 32 ? ~0u : (1u << threads) - 1;
}

class Run {
 public:
  // `grid` is that of a kernel in a graph; 0: it is none.
  Run(Device* device, std::mt19937* random, const Settings& settings, uint32_t slot, uint32_t grid)
      : device_(device), random_(random), settings_(settings), slot_(slot), grid_(grid) {
    warps_ = (settings.threads + 31) / 32;
    exited_.assign(size_t{settings.blocks} * warps_, 0);
    place_ = slot % gpu::kParameters;
    if (grid != 0) {
      const uint32_t first = gpu::first_node_place(slot, grid);
      uint32_t node = first;
      while (device->node_keys[node] != 0) ++node;
      device->node_keys[node] = gpu::node_key(slot, grid);
      place_ = gpu::kParameters + node;
    }
    gpu::Parameters& given = device->parameters[place_];
    given.pc_base = static_cast<uint32_t>(kEntry + kBase);
    device->generation = device->generation % gpu::kGenerations + 1;
    given.generation = device->generation;
    if (given.generation == 1) device->clear();
    given.pc_bits = 9;
    given.global_shift = static_cast<uint8_t>(settings.global_shift);
    given.shared_shift = static_cast<uint8_t>(settings.shared_shift);
    given.synchronises = static_cast<uint8_t>(settings.synchronises);
    for (size_t i = 0; i < settings.allocations.size(); ++i)
      ranges_.push_back(
          {settings.allocations[i].address, settings.allocations[i].size << gpu::kRangeShift | (i + 1)});
    for (int i = 0; i < 3; ++i) given.cluster[i] = static_cast<uint16_t>(settings.cluster[i]);
    given.copies = settings.copies ? reinterpret_cast<uint64_t>(device->copies) : 0;
    given.local_shift = static_cast<uint8_t>(settings.local_shift);
    given.local = given.shared = 0;
    for (const Instruction& what : settings.instructions) {
      if (what.space == Space::kShared || what.copy) given.shared = 1;
      if (what.space == Space::kLocal) given.local = 1;
    }
    given.range_count = static_cast<uint32_t>(ranges_.size());
    given.ranges = ranges_.data();
    static uint64_t range_version = 0;
    given.range_version = ++range_version;
    given.shared_shadow = reinterpret_cast<uint64_t>(device->shared_shadow);
  }

  // What the host does when it has seen the end.
  ~Run() {
    if (grid_ != 0) device_->node_keys[place_ - gpu::kParameters] = 0;
  }

  // One whole launch.
  void go(uint32_t steps) {
    for (uint32_t i = 0; i < steps; ++i) step();
    end();
  }

  void step() {
    {
      const uint32_t block = below(settings_.blocks);
      if (live(block) == 0) return;
      const uint32_t choice = below(100);
      if (choice < 4 && settings_.synchronises != 0)
        barrier(block);
      else if (choice < 9 && settings_.synchronises > 1)
        sync(block, below(warps_));
      else if (choice < 11 && !(settings_.usual && below(20) != 0))
        exit(block, below(warps_),
             below(3) == 0 ? 1u << below(32) : (*random_)() & (*random_)() & (*random_)());
      else if (choice < 25 && settings_.copies)
        commit_or_wait(block, below(warps_));
      else if (choice < 12 && below(4) == 0)
        allocate(block, below(warps_));
      else
        access(block, below(warps_));
    }
  }

  // All threads end that have not.
  void end() {
    std::vector<std::pair<uint32_t, uint32_t>> rest;
    for (uint32_t block = 0; block < settings_.blocks; ++block)
      for (uint32_t warp = 0; warp < warps_; ++warp) rest.emplace_back(block, warp);
    std::shuffle(rest.begin(), rest.end(), *random_);
    for (const auto& [block, warp] : rest) exit(block, warp, ~0u);
  }

  Graph host_graph() {
    LaunchShape shape;
    shape.sequence = 1;
    for (int i = 0; i < 3; ++i) {
      shape.grid[i] = settings_.grid[i];
      shape.cluster[i] = settings_.cluster[i];
    }
    shape.block[0] = settings_.threads;
    shape.allocations = settings_.allocations;
    Engine engine(1);
    engine.begin(shape);
    RecordHeader& end = append(RecordKind::kLaunchEnd, 0, 0, 0, 0);
    (void)end;
    if (!engine.consume(records_.data(), records_.size())) std::abort();
    return engine.end(1);
  }

  Graph gpu_graph(uint32_t* findings) {
    device_->ring->read();
    const Ring::Launch launch = device_->ring->launches[{slot_, grid_}];
    device_->ring->launches.erase({slot_, grid_});
    if (!launch.ended) emulated::Warp::fail("the launch did not end", "ring");
    *findings = launch.counts.findings();
    return launch.counts.graph(kBase, Graph{});
  }

  // Whether the engine has the launch, as a warp of it finds out. Ends a launch that it does not have.
  bool is_on_gpu() {
    bool found = false;
    const auto ask = [&](bool ends) {
      blockIdx = {0, 0, 0};
      gridDim = {1, 1, 1};
      blockDim = {1, 1, 1};
      emulated::warp_of_lanes = 0;
      emulated::grid_of_launch = grid_;
      emulated::Warp::instance().run(1, [&](uint32_t lane) {
        gpu::Group group{data(), 1, lane};
        found = gpu::on_gpu(group);
        if (ends) gpu::end_on_host(group);
      });
    };
    ask(false);
    if (!found) ask(true);
    return found;
  }

 private:
  uint64_t data() const {
    return reinterpret_cast<uint64_t>(device_->channel) | kGpuCandidate | (grid_ != 0 ? kReplay : 0) | slot_;
  }
  uint32_t below(uint32_t bound) { return (*random_)() % bound; }
  uint32_t& exited(uint32_t block, uint32_t warp) { return exited_[size_t{block} * warps_ + warp]; }
  uint32_t live(uint32_t block, uint32_t warp) { return existing(settings_, warp) & ~exited(block, warp); }
  uint32_t live(uint32_t block) {
    uint32_t all = 0;
    for (uint32_t warp = 0; warp < warps_; ++warp) all |= live(block, warp);
    return all;
  }

  RecordHeader& append(RecordKind kind, uint32_t block, uint32_t warp, uint32_t active, int32_t pc,
                       AddressForm form = AddressForm::kAffine, uint8_t flags = 0) {
    const size_t at = records_.size();
    const unsigned bytes = record_bytes(form, flags);
    records_.resize(at + bytes);
    auto& record = *reinterpret_cast<RecordHeader*>(records_.data() + at);
    record.length = static_cast<uint8_t>(bytes / kRecordUnit);
    record.kind = kind;
    record.form = form;
    record.flags = flags;
    record.block = block;
    record.warp = static_cast<uint8_t>(warp);
    record.active = active;
    record.pc = pc;
    record.launch = 1;
    return record;
  }

  // Runs a callback's body for the lanes.
  template <typename Body>
  void on_device(uint32_t block, uint32_t warp, uint32_t active, Body body) {
    const uint32_t (&grid)[3] = settings_.grid;
    blockIdx = {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]};
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {settings_.threads, 1, 1};
    emulated::multiprocessor_of_block = block % kMultiprocessorsUsed;
    emulated::shared_bytes_of_block = settings_.shared;
    emulated::warp_of_lanes = warp;
    emulated::grid_of_launch = grid_;
    // Now and then the hardware puts the warp elsewhere, also where another was.
    emulated::place_of_warp = (below(40) == 0 ? below(8) : warp + 4 * (block / kMultiprocessorsUsed));
    emulated::Warp::instance().run(active, [&](uint32_t lane) {
      gpu::Group group{data(), active, lane};
      if (!gpu::on_gpu(group)) emulated::Warp::fail("the launch was left to the host", "decision");
      body(group, lane);
    });
  }

  void barrier(uint32_t block) {
    std::vector<uint32_t> order;
    for (uint32_t warp = 0; warp < warps_; ++warp)
      if (live(block, warp) != 0) order.push_back(warp);
    std::shuffle(order.begin(), order.end(), *random_);
    for (size_t i = 0; i < order.size(); ++i) {
      uint32_t parts[2] = {live(block, order[i]), 0};
      if (below(4) == 0) {  // the lanes of the warp arrive apart
        parts[1] = parts[0] & (*random_)();
        parts[0] &= ~parts[1];
      }
      for (const uint32_t active : parts) {
        if (active == 0) continue;
        append(RecordKind::kBlockBarrier, block, order[i], active, kBarrierPc);
        on_device(block, order[i], active, [](const gpu::Group& group, uint32_t) {
          gpu::count_barrier(group, static_cast<uint32_t>(kEntry + kBarrierPc), BarrierKind::kBlock, 1);
          gpu::arrive_at_barrier(group, 0, 0, true);
        });
      }
      // Others may still be at work.
      if (i + 1 < order.size() && below(2) == 0) access(block, order[i + 1]);
    }
  }

  void sync(uint32_t block, uint32_t warp) {
    const uint32_t active = live(block, warp);
    if (active == 0) return;
    append(RecordKind::kWarpSync, block, warp, active, kSyncPc).address = ~0u;
    on_device(block, warp, active, [](const gpu::Group& group, uint32_t) {
      gpu::count_barrier(group, static_cast<uint32_t>(kEntry + kSyncPc), BarrierKind::kWarp, 1);
      gpu::arrive_at_sync(group, ~0u);
    });
  }

  void commit_or_wait(uint32_t block, uint32_t warp) {
    const uint32_t active = live(block, warp);
    if (active == 0) return;
    const uint32_t choice = below(4);
    if (choice < 2) {
      append(RecordKind::kAsyncCommit, block, warp, active, 0);
      on_device(block, warp, active, [](const gpu::Group& group, uint32_t) { gpu::commit_copies(group); });
    } else {
      append(RecordKind::kAsyncWait, block, warp, active, 0).address = choice - 2;
      on_device(block, warp, active,
                [&](const gpu::Group& group, uint32_t) { gpu::wait_for_copies(group, choice - 2); });
    }
  }

  void exit(uint32_t block, uint32_t warp, uint32_t lanes) {
    const uint32_t active = live(block, warp) & lanes;
    if (active == 0) return;
    append(RecordKind::kThreadExit, block, warp, active, 0);
    exited(block, warp) |= active;
    on_device(block, warp, active, [](const gpu::Group& group, uint32_t) { gpu::end_threads(group); });
  }

  void allocate(uint32_t block, uint32_t warp) {
    const uint32_t lanes = live(block, warp);
    if (lanes == 0) return;
    const uint32_t active = lanes & (0 - lanes);
    const uint64_t address = kMemory + below(64) * 16;
    const uint64_t bytes = below(20) * 16;
    RecordHeader& record = append(RecordKind::kDeviceMalloc, block, warp, active, 0);
    record.address = address;
    record.value = static_cast<int64_t>(bytes);
    on_device(block, warp, active,
              [&](const gpu::Group& group, uint32_t) { gpu::forget(group, address, bytes); });
  }

  uint64_t place(Space space, uint32_t size) {
    if (space == Space::kLocal) return (0xfffc80 + below(32)) / size * size;
    if (space == Space::kShared) return (1024 + below(settings_.shared - 15)) / size * size;
    const uint64_t near = kMemory + below(settings_.usual ? 150 : 1500),
                   far = kMemory + (uint64_t{below(6)} << 21) + below(64);
    return (below(settings_.usual ? 100 : 20) == 0 ? far : near) / size * size;
  }

  void addresses(Space space, uint32_t active, uint32_t size, uint64_t (&result)[32]) {
    const uint64_t start = place(space, size);
    const int64_t stride = static_cast<int64_t>(below(8)) - 2;
    const uint32_t pattern = below(6);
    const bool usual_stride = below(3) != 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint64_t address = start + static_cast<uint64_t>(stride * size * lane);
      if (pattern == 0) address = start + size * lane;
      if (pattern == 1) address = place(space, size);
      if (pattern == 2) address = start + size * (lane / 4);
      if (pattern == 3) address = start + size * (lane % 8);
      if (settings_.usual && pattern != 1)
        address = start + (usual_stride ? size * lane : 0);
      else if (pattern == 4)
        address = start + size * 32 * (lane / 8) + size * (lane & 7);
      if (space == Space::kShared) {
        const uint64_t room = settings_.shared / 16 * 16;
        address = 1024 + (address - 1024) % room / size * size;
      }
      if (space == Space::kLocal) address = 0xfffc80 + address % 32 / size * size;
      result[lane] = address;
    }
    (void)active;
  }

  void access(uint32_t block, uint32_t warp) {
    const uint32_t lanes = live(block, warp);
    uint32_t active = below(3) != 0 ? lanes : lanes & (*random_)();
    if (below(8) == 0) active = lanes & (1u << below(32));
    if (settings_.usual && below(8) != 0)
      active = lanes & (below(3) != 0 ? ~0u : (~0u >> below(32)) << below(32));
    if (active == 0) return;
    const Instruction& what =
        settings_.instructions[below(static_cast<uint32_t>(settings_.instructions.size()))];
    const uint32_t size = 1u << what.size_shift;
    if (what.matrix) {
      if (lanes != ~0u) return;
      active = ~0u >> (24 - 8 * below(4));
    }
    uint64_t first[32], second[32];
    addresses(what.copy ? Space::kGlobal : what.space, active, size, first);
    if (!what.copy) {
      RecordHeader& record = append(RecordKind::kAccess, block, warp, active, what.pc, AddressForm::kLanes64,
                                    what.matrix ? kRecordFlagMatrix : 0);
      record.space = what.space;
      record.type = what.type;
      record.size = static_cast<uint8_t>(size);
      record.address = first[__builtin_ctz(active)];
      fill(record, active, first);
      on_device(block, warp, active, [&](const gpu::Group& group, uint32_t lane) {
        const gpu::Access access{what.type, false, what.size_shift};
        const uint64_t pc = kEntry + static_cast<uint64_t>(static_cast<int64_t>(what.pc));
        if (what.space == Space::kLocal)
          gpu::analyse_local(group, static_cast<uint32_t>(first[lane]), static_cast<uint32_t>(pc),
                             gpu::pack_kind(what.type, what.size_shift));
        else if (what.space == Space::kGlobal)
          gpu::analyse_any<Space::kGlobal>(group, access, pc, first[lane]);
        else
          gpu::analyse_any<Space::kShared>(group, access, pc, first[lane]);
      });
      return;
    }
    addresses(Space::kShared, active, size, second);
    uint8_t bytes[32] = {};
    const bool even = below(2) == 0;
    uint32_t readers = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if ((active >> lane & 1) == 0) continue;
      bytes[lane] = static_cast<uint8_t>(
          even ? size : below((size >> settings_.global_shift) + 1) << settings_.global_shift);
      if (bytes[lane] != 0) readers |= 1u << lane;
    }
    bool differ = false;
    for (uint32_t lane = 0; lane < 32; ++lane) differ |= (readers >> lane & 1) != 0 && bytes[lane] != size;
    if (readers != 0) {
      RecordHeader& record =
          append(RecordKind::kAccess, block, warp, readers, what.pc, AddressForm::kLanes64,
                 static_cast<uint8_t>(kRecordFlagAsync | (differ ? kRecordFlagLaneSizes : 0)));
      record.size = static_cast<uint8_t>(size);
      record.address = first[__builtin_ctz(readers)];
      fill(record, readers, first);
      if (differ) {
        uint8_t* sizes = reinterpret_cast<uint8_t*>(&record) + record.length * kRecordUnit - 32;
        for (uint32_t lane = 0; lane < 32; ++lane) sizes[lane] = (readers >> lane & 1) != 0 ? bytes[lane] : 0;
      }
    }
    RecordHeader& record = append(RecordKind::kAccess, block, warp, active, what.pc + 1,
                                  AddressForm::kLanes64, kRecordFlagAsync);
    record.space = Space::kShared;
    record.type = AccessType::kWrite;
    record.size = static_cast<uint8_t>(size);
    record.address = second[__builtin_ctz(active)];
    fill(record, active, second);
    on_device(block, warp, active, [&](const gpu::Group& group, uint32_t lane) {
      const uint64_t pc = kEntry + static_cast<uint64_t>(static_cast<int64_t>(what.pc));
      gpu::Group reading = group;
      reading.active = readers;
      if ((readers >> lane & 1) != 0) {
        const gpu::Access access{AccessType::kRead, true, what.size_shift};
        if (differ)
          gpu::analyse_sizes(reading, first[lane], access, static_cast<uint32_t>(pc), bytes[lane]);
        else
          gpu::analyse_any<Space::kGlobal>(reading, access, pc, first[lane]);
      }
      __syncwarp(group.active);
      gpu::analyse_any<Space::kShared>(group, {AccessType::kWrite, true, what.size_shift}, pc, second[lane]);
    });
  }

  static void fill(RecordHeader& record, uint32_t active, const uint64_t (&addresses)[32]) {
    auto* lanes = reinterpret_cast<uint64_t*>(&record + 1);
    for (uint32_t lane = 0; lane < 32; ++lane) lanes[lane] = (active >> lane & 1) != 0 ? addresses[lane] : 0;
  }

  Device* device_;
  std::mt19937* random_;
  const Settings& settings_;
  const uint32_t slot_;
  const uint32_t grid_;
  uint32_t place_;  // of the description
  uint32_t warps_;
  std::vector<uint32_t> exited_;
  std::vector<gpu::Range> ranges_;
  std::vector<unsigned char> records_;
};

Settings settings_for(std::mt19937& random) {
  Settings settings;
  settings.blocks = 1 + random() % 7;
  settings.threads = 1 + random() % 100;
  // With much shared memory a multiprocessor has room for one block only, so that blocks move on to others.
  settings.shared = random() % 6 == 0 ? 200 * 1024 : 64 + random() % 4000;
  if (settings.shared > 100 * 1024) settings.blocks = std::min(settings.blocks, kMultiprocessorsUsed);
  settings.grid[0] = settings.blocks;
  settings.grid[1] = settings.grid[2] = 1;
  for (uint32_t& size : settings.cluster) size = 1;
  if (settings.shared <= 100 * 1024 && random() % 3 == 0) {
    settings.blocks = 1;
    for (int i = 0; i < 3; ++i) {
      settings.cluster[i] = 1 + random() % 3;
      settings.grid[i] = settings.cluster[i] * (1 + random() % 2);
      settings.blocks *= settings.grid[i];
    }
  }
  settings.synchronises = random() % 3;
  settings.usual = random() % 2;
  // Sizes that occur.
  uint32_t global = 1 + random() % 31, shared = 1 + random() % 31, local = 1 + random() % 31;
  settings.global_shift = static_cast<uint32_t>(__builtin_ctz(global));
  settings.shared_shift = static_cast<uint32_t>(__builtin_ctz(shared));
  settings.local_shift = static_cast<uint32_t>(__builtin_ctz(local));
  const auto pick = [&](uint32_t sizes) {
    for (;;) {
      const uint32_t shift = random() % 5;
      if (sizes >> shift & 1) return shift;
    }
  };
  const bool no_shared = random() % 4 == 0;
  for (int32_t i = 0; i < (settings.usual ? 4 : 10); ++i) {
    const bool in_shared = !no_shared && random() % 2;
    settings.instructions.push_back(
        {static_cast<int32_t>(kBase) + 16 * (i * 7 + 1), in_shared ? Space::kShared : Space::kGlobal,
         static_cast<AccessType>(random() % 3), pick(in_shared ? shared : global), false, false});
  }
  if (random() % 3 == 0)
    for (int32_t i = 0; i < 4; ++i)
      settings.instructions.push_back({static_cast<int32_t>(kBase) + 16 * (i * 5 + 200), Space::kLocal,
                                       static_cast<AccessType>(random() % 2), pick(local), false, false});
  settings.copies = !no_shared && global & 16 && shared & 16;
  if (settings.copies)
    settings.instructions.push_back(
        {static_cast<int32_t>(kBase) + 16 * 300, Space::kGlobal, AccessType::kRead, 4, true, false});
  if (!no_shared && shared & 16)
    settings.instructions.push_back(
        {static_cast<int32_t>(kBase) + 16 * 301, Space::kShared, AccessType::kRead, 4, false, true});
  settings.allocations = {{kMemory, 512}, {kMemory + 512, 256}, {kMemory + 1024, 128}};
  if (settings.usual) settings.allocations = {{kMemory, 4096}};
  if (random() % 2) settings.allocations.push_back({kMemory + (uint64_t{2} << 21), 1 << 20});
  return settings;
}

// `copies`: with what is said of the order of asynchronous copies.
std::string text(const Graph& graph, bool copies) {
  std::ostringstream out;
  const auto histogram = [&](const char* name, const Histogram& values) {
    out << " " << name;
    for (const auto& [value, count] : values) out << " " << value << ":" << count;
  };
  for (const Node& node : graph.nodes) {
    out << "node " << node.pc << " " << name(node.space) << " " << name(node.type) << " size "
        << int{node.size} << " async " << node.asynchronous << " executions " << node.executions << " bytes "
        << node.bytes;
    histogram("lanes", node.lanes);
    histogram("addresses", node.addresses);
    histogram("sectors", node.sectors);
    histogram("words", node.words);
    histogram("wavefronts", node.wavefronts);
    histogram("ideal", node.ideal_wavefronts);
    out << " allocations";
    for (const auto& [allocation, bytes] : node.allocation_bytes) out << " " << allocation << ":" << bytes;
    out << "\n";
  }
  const auto hidden = [&](const Edge& edge) {
    if (copies || edge.origin == kUntracked) return false;
    const Node& origin = graph.nodes[static_cast<size_t>(edge.origin)];
    return origin.asynchronous && origin.space == Space::kShared && origin.type == AccessType::kWrite;
  };
  for (const Edge& edge : graph.edges)
    out << "edge " << edge.node << " " << edge.origin << " " << name(edge.label) << " bytes " << edge.bytes
        << " count " << edge.count << " unordered " << (hidden(edge) ? -1 : edge.unordered) << "\n";
  for (const Barrier& barrier : graph.barriers)
    out << "barrier " << barrier.pc << " " << static_cast<int>(barrier.kind) << " executions "
        << barrier.executions << "\n";
  for (const uint64_t accesses : graph.accesses) out << "accesses " << accesses << "\n";
  out << "unknown " << graph.unknown_bytes << " ended " << graph.ended << "\n";
  return out.str();
}

// Whether a graph added up with nothing is itself, and with itself the double.
bool merges(const Graph& graph, size_t allocations) {
  std::vector<int64_t> same;
  for (size_t i = 0; i < allocations; ++i) same.push_back(static_cast<int64_t>(i));
  MergedGraph sum;
  sum.add(graph, same);
  if (text(sum.graph(), true) != text(graph, true)) return false;
  sum.add(graph, same);
  const Graph twice = sum.graph();
  bool good = twice.nodes.size() == graph.nodes.size() && twice.edges.size() == graph.edges.size();
  for (size_t i = 0; good && i < graph.nodes.size(); ++i)
    good = twice.nodes[i].bytes == 2 * graph.nodes[i].bytes &&
           twice.nodes[i].executions == 2 * graph.nodes[i].executions;
  for (size_t i = 0; good && i < graph.edges.size(); ++i) {
    const int64_t unordered = graph.edges[i].unordered;
    good = twice.edges[i].origin == graph.edges[i].origin &&
           twice.edges[i].bytes == 2 * graph.edges[i].bytes &&
           twice.edges[i].unordered == (unordered < 0 ? -1 : 2 * unordered);
  }
  return good;
}

// Says where the graphs differ; false when they do not.
bool differs(Run* run, const Settings& settings, uint32_t seed, bool spoil) {
  uint32_t findings = 0;
  std::string on_gpu;
  try {
    on_gpu = text(run->gpu_graph(&findings), true);
  } catch (const std::exception& error) {
    on_gpu = error.what();
  }
  // Where lanes of a warp end at different times, when its copies are complete is not known.
  const Graph host = run->host_graph();
  std::string on_host = text(host, (findings & gpu::kCopiesUnknown) == 0);
  if (!merges(host, settings.allocations.size())) {
    std::printf("the graph of seed %u is not the sum of itself\n", seed);
    return true;
  }
  findings &= ~gpu::kCopiesUnknown;
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
    if (i == 100 && late.is_on_gpu()) {
      // Nothing of the first may have come by yet.
      std::printf("a launch of seed %u took an engine that another one had\n", seed);
      return true;
    }
  }
  a.end();
  b.end();
  return differs(&a, first, seed, false) || differs(&b, second, seed, false);
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
  std::printf("%u launches agree\n", launches);
  return 0;
}
