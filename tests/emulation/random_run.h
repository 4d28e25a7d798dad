// A launch whose warps do random things, seen by both engines: callbacks for one, records for the other.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "analyzer/engine.h"
#include "engine_memory.h"
#include "patches/gpu_copy_access.cuh"
#include "patches/gpu_order.cuh"
#include "random_launch.h"

namespace cuvein {
namespace comparison {

constexpr unsigned kInstructionBits = 9;

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
    if (given.generation == 1 && device->begun++ != 0) device->clear();
    given.cleared = device->cleared;
    given.pc_bits = kInstructionBits;
    given.global_shift = static_cast<uint8_t>(settings.global_shift);
    given.shared_shift = static_cast<uint8_t>(settings.shared_shift);
    given.synchronises = static_cast<uint8_t>(settings.synchronises);
    for (size_t i = 0; i < settings.allocations.size(); ++i)
      ranges_.push_back(
          {settings.allocations[i].address, settings.allocations[i].size << gpu::kRangeShift | (i + 1)});
    std::sort(ranges_.begin(), ranges_.end(),
              [](const gpu::Range& a, const gpu::Range& b) { return a.first < b.first; });
    for (int i = 0; i < 3; ++i) given.cluster[i] = static_cast<uint16_t>(settings.cluster[i]);
    given.copies = settings.copies ? reinterpret_cast<uint64_t>(device->copies) : 0;
    given.local_shift = static_cast<uint8_t>(settings.local_shift);
    given.orders = settings.orders;
    given.local = given.shared = 0;
    for (const Instruction& what : settings.instructions) {
      if (what.space == Space::kShared || what.copy) given.shared = 1;
      if (what.space == Space::kLocal) given.local = 1;
    }
    given.range_count = static_cast<uint32_t>(ranges_.size());
    given.ranges = ranges_.data();
    std::vector<uint64_t> memory;
    for (const gpu::Range& range : ranges_) memory.insert(memory.end(), {range.first, range.extent});
    static std::map<std::vector<uint64_t>, uint64_t> versions;
    given.range_version = versions.emplace(memory, versions.size() + 1).first->second;
    if (grid == 0) family_ = family_of_launch(given.range_version);
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

  // Whether some of its threads have not ended.
  bool running() {
    for (uint32_t block = 0; block < settings_.blocks; ++block)
      if (live(block) != 0) return true;
    return false;
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
    return reinterpret_cast<uint64_t>(device_->channel) | kGpuCandidate | (grid_ != 0 ? kReplay : 0) | slot_ |
           uint64_t{family_} << kFamilyShift;
  }
  // As the host numbers them, but for how they lie in the table.
  uint32_t family_of_launch(uint64_t range_version) const {
    const uint32_t cluster = settings_.cluster[0] * settings_.cluster[1] * settings_.cluster[2];
    const uint64_t blocks = (settings_.blocks / cluster) << gpu::bits_for(cluster);
    const bool spares = settings_.synchronises < 2 && !settings_.copies;
    const unsigned block_bits = gpu::block_bits_of(gpu::bits_for(blocks), kInstructionBits, spares);
    const std::vector<uint64_t> common = {settings_.code,       block_bits,           settings_.cluster[0],
                                          settings_.cluster[1], settings_.cluster[2], settings_.shared,
                                          range_version,        settings_.orders};
    const auto next = static_cast<uint32_t>(device_->families.size() * 37 % (gpu::kFamilies - 1) + 1);
    return device_->families.emplace(common, next).first->second;
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
    // Two of them count together, one apart.
    const uint32_t number = block % kMultiprocessorsUsed;
    emulated::multiprocessor_of_block = number == 0 ? 0 : gpu::kCopies - 1 + number;
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
    int32_t pc = kBarrierPcs[below(3)];
    for (size_t i = 0; i < order.size(); ++i) {
      uint32_t parts[2] = {live(block, order[i]), 0};
      if (below(4) == 0) {  // the lanes of the warp arrive apart
        parts[1] = parts[0] & (*random_)();
        parts[0] &= ~parts[1];
      }
      for (const uint32_t active : parts) {
        if (active == 0) continue;
        if (settings_.mixed && below(20) == 0) pc = kBarrierPcs[below(3)];
        append(RecordKind::kBlockBarrier, block, order[i], active, pc);
        on_device(block, order[i], active, [&](const gpu::Group& group, uint32_t) {
          gpu::arrive(group, static_cast<uint32_t>(kEntry + pc), 0, 0, true);
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
    on_device(block, warp, active, [](const gpu::Group& group, uint32_t) { gpu::end(group); });
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
    on_device(block, warp, active, [&](const gpu::Group& group, uint32_t) {
      gpu::forget(group, address, bytes);
      if (gpu::kFollowsOrder) gpu::forget_order(group, address, bytes);
    });
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
    const uint32_t pattern = below(10), rows = 8u << below(2);
    const uint64_t pitch = size * (1 + below(40)), exchanged = 1 + below(31);
    const bool usual_stride = below(3) != 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint64_t address = start + static_cast<uint64_t>(stride * size * lane);
      if (pattern == 0) address = start + size * lane;
      if (pattern == 1) address = place(space, size);
      if (pattern == 2) address = start + size * (lane / 4);
      if (pattern == 3) address = start + size * (lane % 8);
      if (settings_.usual && pattern != 1 && pattern < 6)
        address = start + (usual_stride ? size * lane : 0);
      else if (pattern == 4)
        address = start + size * 32 * (lane / 8) + size * (lane & 7);
      // Parts of rows, a place for each, a column, lanes that are exchanged.
      if (pattern == 6) address = start + pitch * (lane / rows) + size * (lane % rows);
      if (pattern == 7) address = start + pitch * (lane / rows);
      if (pattern == 8) address = start + pitch * lane;
      if (pattern == 9) address = start / (32 * size) * (32 * size) + size * (lane ^ exchanged);
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
        if (what.space == Space::kGlobal)
          follow<Space::kGlobal>(group, first[lane], what.size_shift, what.type != AccessType::kRead);
        else if (what.space == Space::kShared)
          follow<Space::kShared>(group, first[lane], what.size_shift, what.type != AccessType::kRead);
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
      gpu::analyse_copy(group, pc, first[lane], static_cast<uint32_t>(second[lane]), what.size_shift,
                        bytes[lane]);
      if (gpu::kFollowsOrder && (readers >> lane & 1) != 0)
        gpu::follow_sizes(reading, first[lane], bytes[lane]);
      __syncwarp(group.active);
      follow<Space::kShared>(group, second[lane], what.size_shift, true);
    });
  }

  template <Space kSpace>
  static void follow(const gpu::Group& group, uint64_t address, uint32_t size_shift, bool writes) {
    if (!gpu::kFollowsOrder) return;
    if (!gpu::follow_usual<kSpace>(group.data, address, group.active, size_shift, writes))
      gpu::follow_access<kSpace>(group, address, gpu::pack_following(size_shift, writes));
  }

  static void fill(RecordHeader& record, uint32_t active, const uint64_t (&addresses)[32]) {
    auto* lanes = reinterpret_cast<uint64_t*>(&record + 1);
    for (uint32_t lane = 0; lane < 32; ++lane) lanes[lane] = (active >> lane & 1) != 0 ? addresses[lane] : 0;
  }

 public:
  Device* device_;

 private:
  std::mt19937* random_;
  const Settings& settings_;
  const uint32_t slot_;
  const uint32_t grid_;
  uint32_t family_ = 0;
  uint32_t place_;  // of the description
  uint32_t warps_;
  std::vector<uint32_t> exited_;
  std::vector<gpu::Range> ranges_;
  std::vector<unsigned char> records_;
};

}  // namespace comparison
}  // namespace cuvein
