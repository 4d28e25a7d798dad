#include "analyzer/worker.h"

#include <algorithm>
#include <optional>

#include "analyzer/hash.h"

namespace cuvein {

namespace {

// With several workers the accesses of one lie here and there.
constexpr ptrdiff_t kAccessesAhead = 8;

__attribute__((always_inline)) inline void load(const Access& access) {
  static_assert(sizeof(Access) <= 128);
  __builtin_prefetch(&access);
  __builtin_prefetch(reinterpret_cast<const char*>(&access) + 64);
}

Launch& find(const OpenLaunches& launches, uint32_t sequence) {
  return *std::find_if(launches.begin(), launches.end(), [&](const auto& open) {
            return open.first == sequence;
          })->second;
}

// The fields that all records have.
Access& add_plain(const RecordHeader& record, Launch& launch, Slice& slice) {
  Access& access = slice.accesses.emplace_back();
  access.kind = record.kind;
  access.launch = &launch;
  access.address = record.address;
  access.stride = record.value;
  access.block = record.block;
  access.active = record.active;
  access.warp = record.warp;
  return access;
}

void follow_copies(const Access& access, AsyncCopies& copies) {
  switch (access.kind) {
    case RecordKind::kAsyncCommit:
      copies.commit(access.warp, access.active);
      break;
    case RecordKind::kAsyncWait:
      copies.wait(access, access.address);
      break;
    default:
      copies.set_unknown();
  }
}

std::optional<BarrierKind> barrier_kind(RecordKind kind) {
  switch (kind) {
    case RecordKind::kBlockBarrier:
      return BarrierKind::kBlock;
    case RecordKind::kWarpSync:
      return BarrierKind::kWarp;
    case RecordKind::kClusterArrive:
    case RecordKind::kClusterWait:
      return BarrierKind::kCluster;
    case RecordKind::kMbarrier:
      return BarrierKind::kMbarrier;
    default:
      return std::nullopt;
  }
}

}  // namespace

void Slice::clear() {
  accesses.clear();
  for (Shares& shares : by_block) shares.list.clear();
  for (Places& list : by_address) list.clear();
  launch_ = nullptr;
  several_ = false;
}

// Adds the last access of the slice to the lists of the workers that keep its addresses.
void Worker::share_by_address(Access& access, Slice& slice) {
  const uint32_t index = static_cast<uint32_t>(slice.accesses.size() - 1);
  std::vector<Places>& lists = slice.by_address;
  if (access.space == Space::kDistributedShared) {
    const unsigned owner = share(access.launch->geometry().cluster_of(access.block), workers_);
    lists[owner].add(index, access.active, Places::kWhole);
    return;
  }
  slice.note(access.launch);
  if (workers_ == 1) {
    share_with_itself(access, index, lists[0]);
    return;
  }
  if (scattered(access)) {
    uint32_t* const lanes = lanes_.data() + kRoom;
    each_address(access, access.active, [&](unsigned lane, uint64_t address) {
      const unsigned owner = share_.owner(address);
      lists[owner].add_place(address);
      lanes[owner] |= 1u << lane;
    });
    for (unsigned worker = 0; worker < workers_; ++worker) {
      if (lanes[worker] == 0) continue;
      lists[worker].add(index, lanes[worker], Places::kSingles);
      lanes[worker] = 0;
    }
    return;
  }
  constexpr unsigned bits = AddressShare::kGranuleBits;
  if (access.layout == Layout::kRun || access.layout == Layout::kBroadcast) {
    const bool run = access.layout == Layout::kRun;
    const uint64_t first = access.lane_address(access.first);
    const uint64_t bytes = run ? __builtin_popcount(access.active) * access.size : access.size;
    if (first >> bits == (first + bytes - 1) >> bits) {
      Places& list = lists[share_.owner(first)];
      list.add(index, access.active, run ? Places::kWhole : Places::kWholePlaced);
      if (!run) list.add_place(first);
      return;
    }
  }
  each_lane(access.active, [&](unsigned lane) {
    const uint64_t first = access.lane_address(lane);
    const uint64_t last = first + access.lane_size(lane) - 1;
    lists[share_.owner(first)].add_lane(index, lane);
    if (first >> bits == last >> bits) return;
    lists[share_.owner(last)].add_lane(index, lane);
    access.split = true;
  });
}

// One worker alone finds the places at once. Half of the lanes are loaded from here on and half later, so
// that memory is busy all the time.
void Worker::share_with_itself(const Access& access, uint32_t index, Places& list) {
  const Shadow& shadow = access.launch->part(number_, pools_, share_).global;
  if (scattered(access)) {
    list.add(index, access.active, Places::kSingles);
    uint64_t* place = list.add_places(static_cast<size_t>(__builtin_popcount(access.active)));
    each_address(access, access.active, [&](unsigned lane, uint64_t address) __attribute__((always_inline)) {
      *place = Places::find(shadow, address);
      if (lane % 2 != 0) __builtin_prefetch(reinterpret_cast<const void*>(*place));
      ++place;
    });
  } else if (access.layout == Layout::kBroadcast) {
    list.add(index, access.active, Places::kWholePlaced);
    list.add_place(Places::find(shadow, access.lane_address(access.first)));
  } else {
    list.add(index, access.active, Places::kWhole);
  }
}

void Worker::decode_access(const RecordHeader& record, Launch& launch, Slice& slice) {
  Access& access = add_plain(record, launch, slice);
  access.form = record.form;
  access.space = record.space;
  access.type = record.type;
  access.size = record.size;
  access.first = static_cast<uint8_t>(__builtin_ctz(record.active));
  const unsigned char* behind = reinterpret_cast<const unsigned char*>(&record + 1);
  if (record.form != AddressForm::kAffine) access.addresses = behind;
  if (record.flags & kRecordFlagLaneSizes)
    access.sizes = behind + record_bytes(record.form, 0) - sizeof(RecordHeader);
  access.copies = access.space == Space::kShared && access.type == AccessType::kWrite &&
                  (record.flags & kRecordFlagAsync) != 0;
  launch.counts(number_).add(access, record.pc, record.flags & kRecordFlagAsync, distributions_);

  const bool of_the_block = access.space == Space::kShared || access.space == Space::kLocal;
  if (of_the_block || launch.synchronises.load(std::memory_order_relaxed))
    slice.by_block[share_.owner_of_block(access.block)].list.push_back(
        {static_cast<uint32_t>(slice.accesses.size() - 1), access.active});
  if (!of_the_block) share_by_address(access, slice);
}

void Worker::decode(const unsigned char* records, const unsigned char* end, const OpenLaunches& launches,
                    Slice& slice) {
  Launch* launch = nullptr;
  uint32_t sequence = 0;
  while (records != end) {
    const RecordHeader& record = *reinterpret_cast<const RecordHeader*>(records);
    records += record.length * kRecordUnit;
    if (record.kind == RecordKind::kPadding) continue;
    if (launch == nullptr || record.launch != sequence) {
      sequence = record.launch;
      launch = &find(launches, sequence);
    }
    switch (record.kind) {
      case RecordKind::kAccess:
        decode_access(record, *launch, slice);
        continue;
      case RecordKind::kLaunchEnd:
        launch->counts(number_).ended = true;
        continue;
      case RecordKind::kNotAnalysed:
        ++launch->counts(number_).not_analysed[record.address];
        break;
      default:
        break;
    }
    // What is left concerns the block: it synchronises, ends threads, or shows that a barrier was passed.
    Access& access = add_plain(record, *launch, slice);
    if (const std::optional<BarrierKind> kind = barrier_kind(record.kind))
      access.node = launch->counts(number_).add_barrier(record.pc, *kind);
    const uint32_t index = static_cast<uint32_t>(slice.accesses.size() - 1);
    slice.by_block[share_.owner_of_block(record.block)].list.push_back({index, record.active});
    if (record.kind == RecordKind::kDeviceMalloc)
      for (Places& list : slice.by_address) list.add(index, record.active, Places::kWhole);
  }
}

void Worker::by_block(Slice& slice, uint64_t round) {
  const std::vector<Share>& shares = slice.by_block[number_].list;
  for (const Share& share : shares) {
    if (workers_ != 1 && shares.data() + shares.size() - &share > kAccessesAhead)
      load(slice.accesses[(&share + kAccessesAhead)->access]);
    Access& access = slice.accesses[share.access];
    Launch& launch = *access.launch;
    Blocks& blocks = launch.part(number_, pools_, share_).blocks;
    const bool synchronises = launch.synchronises.load(std::memory_order_relaxed);
    if (access.kind == RecordKind::kThreadExit) {
      BlockState& block = blocks.at(access.block);
      if (synchronises) blocks.clocks(block);
      blocks.exit(block, access.warp, access.active);
      continue;
    }
    const bool of_the_block = access.kind == RecordKind::kAccess &&
                              (access.space == Space::kShared || access.space == Space::kLocal);
    const bool of_copies = access.kind == RecordKind::kAsyncCommit || access.kind == RecordKind::kAsyncWait ||
                           access.kind == RecordKind::kMbarrier;
    if (!synchronises && !of_the_block && !of_copies) continue;
    BlockState& block = blocks.at(access.block);
    if (synchronises) {
      BlockClocks& clocks = blocks.clocks(block);
      switch (access.kind) {
        case RecordKind::kBlockBarrier:
          clocks.barrier(access.warp, access.active, static_cast<unsigned>(access.address),
                         static_cast<uint32_t>(access.stride), (access.stride & kBarrierArriveOnly) == 0,
                         access.node);
          break;
        case RecordKind::kWarpSync:
          clocks.warp_sync(access.warp, access.active, static_cast<uint32_t>(access.address));
          break;
        default:
          clocks.other(access.warp, access.active);
      }
      if (access.kind == RecordKind::kAccess || access.kind == RecordKind::kAsyncWait)
        clocks.stamp(access, snapshots_, round);
    }
    if (of_copies) follow_copies(access, blocks.copies(block));
    if (access.copies || block.copies != nullptr) access.async_copies = &blocks.copies(block);
    if (of_the_block) reuse_.apply(access, access.active, block.shadow, launch.counts(number_).edges);
  }
}

void Worker::by_address(Slice& slice) {
  Places& places = slice.by_address[number_];
  Launch* const only = slice.launch();
  places.start(only != nullptr ? &only->part(number_, pools_, share_).global : nullptr, workers_ == 1);
  for (size_t at = 0; at < places.size();) {
    const Access& access = slice.accesses[places.access(at)];
    if (workers_ != 1 && at + kAccessesAhead < places.size())
      load(slice.accesses[places.access(at + kAccessesAhead)]);
    Launch& launch = *access.launch;
    Part& part = launch.part(number_, pools_, share_);
    EdgeTable& edges = launch.counts(number_).edges;
    if (places.kind(at) == Places::kSingles) {
      at = reuse_.apply_singles(slice.accesses.data(), places, at, part.global, edges);
      continue;
    }
    if (places.kind(at) == Places::kWholePlaced) places.next();
    const uint32_t lanes = places.lanes(at++);
    if (access.kind == RecordKind::kDeviceMalloc) {
      part.global.forget(access.address, static_cast<uint64_t>(access.stride));
    } else if (access.space == Space::kDistributedShared) {
      std::unique_ptr<Shadow>& shadow = part.clusters[launch.geometry().cluster_of(access.block)];
      if (shadow == nullptr) shadow = std::make_unique<Shadow>(pools_.blocks.shadows());
      reuse_.apply(access, lanes, *shadow, edges);
    } else if (access.split) {
      reuse_.apply_split(access, lanes, part.global, edges, share_, split_lanes_);
    } else {
      reuse_.apply(access, lanes, part.global, edges);
    }
  }
}

}  // namespace cuvein
