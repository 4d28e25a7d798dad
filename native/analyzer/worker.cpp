#include "analyzer/worker.h"

#include <algorithm>
#include <optional>

#include "analyzer/hash.h"

namespace cuvein {

namespace {

// The records that one of several workers goes on with lie here and there.
constexpr ptrdiff_t kRecordsAhead = 8;

// Whether a record is of an access to memory that belongs to the block.
bool of_the_block(const RecordHeader& record) {
  return record.kind == RecordKind::kAccess &&
         (record.space == Space::kShared || record.space == Space::kLocal);
}

// Whether a record is of an asynchronous copy's access to global memory.
bool reads_for_copy(const RecordHeader& record) {
  return record.kind == RecordKind::kAccess && (record.flags & kRecordFlagAsync) != 0 &&
         record.space == Space::kGlobal;
}

bool of_copies(const RecordHeader& record) {
  return record.kind == RecordKind::kAsyncCommit || record.kind == RecordKind::kAsyncWait ||
         record.kind == RecordKind::kMbarrier;
}

// What an access to global memory leaves behind as the most recent one, for lane 0 and without a stamp.
Origin left_by(const Access& access) {
  return {access.who(), pack_what(access.node, 0, 0) | (access.type != AccessType::kRead ? kWrote : 0)};
}

void follow_copies(const RecordHeader& record, const Stamp& stamp, AsyncCopies& copies) {
  switch (record.kind) {
    case RecordKind::kAsyncCommit:
      copies.commit(record.warp, record.active);
      break;
    case RecordKind::kAsyncWait:
      copies.wait(record.warp, record.active, record.address, stamp);
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

void Worker::share_by_address(const Access& access, Share& share, Slice& slice) {
  std::vector<Places>& lists = slice.by_address;
  if (access.space == Space::kDistributedShared) {
    const unsigned owner = cuvein::share(access.launch->geometry().cluster_of(access.block), workers_);
    lists[owner].add(share, access.active, Way::kWhole);
    return;
  }
  slice.note(access.launch);
  if (workers_ == 1) {
    share_with_itself(access, share, lists[0]);
    return;
  }
  if (scattered(access)) {
    uint32_t* const lanes = lanes_.data() + kRoom;
    constexpr unsigned bits = AddressShare::kGranuleBits;
    uint64_t last = access.lane_address(access.first) >> bits;
    unsigned owner = share_.owner(last << bits);
    each_address(access, access.active, [&](unsigned lane, uint64_t address) {
      if (address >> bits != last) {
        last = address >> bits;
        owner = share_.owner(address);
      }
      lists[owner].add_place(address);
      lanes[owner] |= 1u << lane;
    });
    const Origin left = left_by(access);
    for (unsigned worker = 0; worker < workers_; ++worker) {
      if (lanes[worker] == 0) continue;
      lists[worker].add_singles(share, lanes[worker], left);
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
      list.add(share, access.active, run ? Way::kWhole : Way::kWholePlaced);
      if (!run) list.add_place(first);
      return;
    }
  }
  share_lanes(access, share, slice);
}

// Lane by lane, each to the keepers of its first and its last byte.
void Worker::share_lanes(const Access& access, Share& share, Slice& slice) {
  constexpr unsigned bits = AddressShare::kGranuleBits;
  const auto last_byte = [&](unsigned lane) {
    return access.lane_address(lane) + access.lane_size(lane) - 1;
  };
  each_lane(access.active, [&](unsigned lane) {
    if (access.lane_address(lane) >> bits != last_byte(lane) >> bits) share.set_split();
  });
  each_lane(access.active, [&](unsigned lane) {
    const uint64_t first = access.lane_address(lane), last = last_byte(lane);
    slice.by_address[share_.owner(first)].add_lane(share, lane);
    if (first >> bits != last >> bits) slice.by_address[share_.owner(last)].add_lane(share, lane);
  });
}

// One worker alone takes at once what need not wait, and finds the places of the rest. Half of the lanes are
// loaded from here on and half later, so that memory is busy all the time.
void Worker::share_with_itself(const Access& access, const Share& share, Places& list) {
  Part& part = access.launch->part(number_, pools_, share_);
  if (scattered(access)) {
    list.add_singles(share, access.active, left_by(access));
    uint64_t* place = list.add_places(static_cast<size_t>(__builtin_popcount(access.active)));
    each_address(access, access.active, [&](unsigned lane, uint64_t address) __attribute__((always_inline)) {
      *place = Places::find(part.global, address);
      if (lane % 2 != 0) __builtin_prefetch(reinterpret_cast<const void*>(*place));
      ++place;
    });
  } else if (access.layout == Layout::kBroadcast) {
    list.add(share, access.active, Way::kWholePlaced);
    list.add_place(Places::find(part.global, access.lane_address(access.first)));
  } else if (list.size() == 0) {  // nothing that comes before is left for later
    reuse_.apply(access, access.active, part.global, access.launch->counts(number_).edges);
  } else {
    list.add(share, access.active, Way::kWhole);
  }
}

void Worker::decode_access(const RecordHeader& record, Launch& launch, Share& share, Slice& slice) {
  Access access = access_of(record, launch);
  launch.counts(number_).add(access, record.pc, record.flags & kRecordFlagAsync, distributions_);
  share.describe(access);
  const bool of_block = of_the_block(record);
  if (of_block || reads_for_copy(record) || launch.synchronises.load(std::memory_order_relaxed)) {
    if (workers_ == 1) at_block(record, launch, of_block ? &access : nullptr, &access.stamp);
    if (!of_block) {
      slice.stamps.push_back(access.stamp);
      share.stamp = static_cast<uint32_t>(slice.stamps.size());
    }
    if (workers_ != 1) slice.by_block[share_.owner_of_block(access.block)].list.push_back(share);
  }
  if (!of_block) share_by_address(access, share, slice);
}

void Worker::decode(const unsigned char* end, Slice& slice) {
  Launch* launch = nullptr;
  uint32_t sequence = 0;
  for (const unsigned char* at = slice.records(); at != end;) {
    const RecordHeader& record = *reinterpret_cast<const RecordHeader*>(at);
    Share share{};
    share.record = static_cast<uint32_t>(static_cast<size_t>(at - slice.records()) / kRecordUnit);
    at += record.length * kRecordUnit;
    if (record.kind == RecordKind::kPadding) continue;
    if (launch == nullptr || record.launch != sequence) {
      sequence = record.launch;
      launch = &find(slice.launches(), sequence);
    }
    switch (record.kind) {
      case RecordKind::kAccess:
        decode_access(record, *launch, share, slice);
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
    if (Stamp stamp{}; workers_ == 1)
      at_block(record, *launch, nullptr, &stamp);
    else
      slice.by_block[share_.owner_of_block(record.block)].list.push_back(share);
    if (record.kind == RecordKind::kDeviceMalloc)
      for (Places& list : slice.by_address) list.add(share, record.active, Way::kWhole);
  }
}

// What a record does to its block. `access`: of the block's memory, or null. `stamp`, which is empty, takes
// the clocks of the warp when it is an access of any memory; it is the access's own if there is one.
void Worker::at_block(const RecordHeader& record, Launch& launch, Access* access, Stamp* stamp) {
  Blocks& blocks = launch.part(number_, pools_, share_).blocks;
  const bool synchronises = launch.synchronises.load(std::memory_order_relaxed);
  uint32_t barrier = 0;
  if (const std::optional<BarrierKind> kind = barrier_kind(record.kind))
    barrier = launch.counts(number_).add_barrier(record.pc, *kind);
  if (record.kind == RecordKind::kThreadExit) {
    BlockState& block = blocks.at(record.block);
    if (synchronises) blocks.clocks(block);
    blocks.exit(block, record.warp, record.active);
    return;
  }
  if (!synchronises && access == nullptr && !of_copies(record) && !reads_for_copy(record)) return;
  BlockState& block = blocks.at(record.block);
  if (synchronises) {
    BlockClocks& clocks = blocks.clocks(block);
    switch (record.kind) {
      case RecordKind::kBlockBarrier:
        clocks.barrier(record.warp, record.active, static_cast<unsigned>(record.address),
                       static_cast<uint32_t>(record.value), (record.value & kBarrierArriveOnly) == 0,
                       barrier);
        break;
      case RecordKind::kWarpSync:
        clocks.warp_sync(record.warp, record.active, static_cast<uint32_t>(record.address));
        break;
      default:
        clocks.other(record.warp, record.active);
    }
    if (record.kind == RecordKind::kAccess || record.kind == RecordKind::kAsyncWait)
      clocks.stamp(record.warp, *snapshots_, round_, stamp);
  }
  if (of_copies(record)) follow_copies(record, *stamp, blocks.copies(block));
  if (reads_for_copy(record)) blocks.copies(block).read(access_of(record, launch), record.pc);
  if (access == nullptr) return;
  if (through_l1(*access))
    launch.counts(number_).add_wavefronts(*access, record.pc,
                                          blocks.copies(block).wavefronts(*access, record.pc));
  if (access->copies || block.copies != nullptr) access->async_copies = &blocks.copies(block);
  reuse_.apply(*access, access->active, block.shadow, launch.counts(number_).edges);
}

void Worker::by_block(Slice& slice) {
  const std::vector<Share>& shares = slice.by_block[number_].list;
  Launch* launch = nullptr;
  uint32_t sequence = 0;
  for (const Share& share : shares) {
    if (shares.data() + shares.size() - &share > kRecordsAhead) slice.load(*(&share + kRecordsAhead));
    const RecordHeader& record = slice.record(share);
    if (launch == nullptr || record.launch != sequence) {
      sequence = record.launch;
      launch = &find(slice.launches(), sequence);
    }
    if (of_the_block(record)) {
      Access access = slice.access(share, *launch);
      at_block(record, *launch, &access, &access.stamp);
    } else {
      Stamp stamp{};
      at_block(record, *launch, nullptr, &stamp);
      if (share.stamp != 0) slice.stamps[share.stamp - 1] = stamp;
    }
  }
}

void Worker::start_by_address(Slice& slice) {
  Launch* const only = slice.launch();
  slice.by_address[number_].start(only != nullptr ? &only->part(number_, pools_, share_).global : nullptr,
                                  workers_ == 1);
}

void Worker::by_address(Slice& slice, std::vector<SplitLane>& split) {
  Places& places = slice.by_address[number_];
  for (size_t at = 0; at < places.size();) {
    const Share& share = places[at];
    if (workers_ != 1 && at + kRecordsAhead < places.size() &&
        places[at + kRecordsAhead].way() != Way::kSingles)
      slice.load(places[at + kRecordsAhead]);
    Launch& launch = slice.launch_of(share);
    EdgeTable& edges = launch.counts(number_).edges;
    Part& part = launch.part(number_, pools_, share_);
    if (share.way() == Way::kSingles) {
      at = reuse_.apply_singles(slice, places, at, part.global, edges);
      continue;
    }
    if (share.way() == Way::kWholePlaced) places.next();
    ++at;
    const RecordHeader& record = slice.record(share);
    if (record.kind == RecordKind::kDeviceMalloc) {
      part.global.forget(record.address, static_cast<uint64_t>(record.value));
      continue;
    }
    const Access access = slice.access(share, launch);
    if (access.space == Space::kDistributedShared) {
      std::unique_ptr<Shadow>& shadow = part.clusters[launch.geometry().cluster_of(access.block)];
      if (shadow == nullptr) shadow = std::make_unique<Shadow>(pools_.blocks.shadows());
      reuse_.apply(access, share.lanes, *shadow, edges);
    } else if (access.split) {
      reuse_.apply_split(access, share.lanes, part.global, edges, share_, [&](unsigned lane, uint32_t edge) {
        split.push_back({&record, &launch, access.node, lane, edge});
      });
    } else {
      reuse_.apply(access, share.lanes, part.global, edges);
    }
  }
}

}  // namespace cuvein
