#include "analyzer/worker.h"

#include <algorithm>
#include <optional>

#include "analyzer/hash.h"

namespace cuvein {

namespace {

// More than there can be between an access and the lanes after it that are looked for.
constexpr size_t kSharesAhead = 64;
constexpr uint32_t kEverySecond = 0xaaaaaaaa;

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
  for (std::vector<Share>& list : by_block) list.clear();
  for (std::vector<Share>& list : by_address) list.clear();
}

// Adds the last access of the slice to the lists of the workers that keep its addresses.
void Worker::share_by_address(Access& access, Slice& slice) {
  const uint32_t index = static_cast<uint32_t>(slice.accesses.size() - 1);
  if (workers_ == 1) {
    slice.by_address[0].push_back({index, access.active});
    return;
  }
  if (access.space == Space::kDistributedShared) {
    const unsigned owner = share(access.launch->geometry().cluster_of(access.block), workers_);
    slice.by_address[owner].push_back({index, access.active});
    return;
  }
  constexpr unsigned bits = AddressShare::kGranuleBits;
  if (access.layout == Layout::kRun) {
    const uint64_t first = access.lane_address(access.first);
    const uint64_t last = first + __builtin_popcount(access.active) * access.size - 1;
    if (first >> bits == last >> bits) {
      slice.by_address[share_.owner(first)].push_back({index, access.active});
      return;
    }
  }
  const auto add = [&](uint64_t address, unsigned lane) { lanes_[share_.owner(address)] |= 1u << lane; };
  each_lane(access.active, [&](unsigned lane) {
    const uint64_t first = access.lane_address(lane);
    const uint64_t last = first + access.lane_size(lane) - 1;
    add(first, lane);
    if (first >> bits == last >> bits) return;
    add(last, lane);
    access.split = true;
  });
  for (unsigned worker = 0; worker < workers_; ++worker) {
    if (lanes_[worker] == 0) continue;
    slice.by_address[worker].push_back({index, lanes_[worker]});
    lanes_[worker] = 0;
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
    slice.by_block[share(access.block, workers_)].push_back(
        {static_cast<uint32_t>(slice.accesses.size() - 1), access.active});
  if (of_the_block) return;
  share_by_address(access, slice);
  if (workers_ != 1) return;
  // Memory is to be busy while records are decoded, too: half of the lanes are loaded from here.
  if (ahead_.launch() == nullptr) ahead_.start(&launch, &launch.part(0, pools_, share_).global);
  if (ahead_.launch() == &launch) ahead_.look(access, access.active, kEverySecond);
}

void Worker::decode(const unsigned char* records, const unsigned char* end, const OpenLaunches& launches,
                    Slice& slice) {
  ahead_.stop();
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
    slice.by_block[share(record.block, workers_)].push_back({index, record.active});
    if (record.kind == RecordKind::kDeviceMalloc)
      for (std::vector<Share>& list : slice.by_address) list.push_back({index, record.active});
  }
}

void Worker::by_block(Slice& slice, uint64_t round) {
  for (const Share& share : slice.by_block[number_]) {
    Access& access = slice.accesses[share.index];
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

// Looks at the shares before `end`, as long as few lanes lie ready.
void Worker::look_ahead(const Slice& slice, const std::vector<Share>& shares, size_t end) {
  for (; looked_at_ != end && ahead_.ready() < Ahead::kDistance + kWarpLanes; ++looked_at_) {
    const Access& access = slice.accesses[shares[looked_at_].index];
    if (access.launch != ahead_.launch()) return;
    // The others' turn comes when they are this far off.
    ahead_.look(access, shares[looked_at_].lanes, ahead_.ready() < Ahead::kDistance ? ~0u : 0);
  }
}

void Worker::by_address(Slice& slice) {
  const std::vector<Share>& shares = slice.by_address[number_];
  if (workers_ != 1) ahead_.stop();
  for (size_t i = 0; i < shares.size(); ++i) {
    const Share share = shares[i];
    const Access& access = slice.accesses[share.index];
    Launch& launch = *access.launch;
    Part& part = launch.part(number_, pools_, share_);
    if (workers_ != 1) {
      if (ahead_.launch() != &launch) {
        ahead_.start(&launch, &part.global);
        looked_at_ = i;
      }
      look_ahead(slice, shares, std::min(shares.size(), i + kSharesAhead));
    }
    Ahead* const ahead = ahead_.launch() == &launch ? &ahead_ : nullptr;
    if (ahead != nullptr) ahead->check();
    if (access.kind == RecordKind::kDeviceMalloc) {
      part.global.forget(access.address, static_cast<uint64_t>(access.stride));
      continue;
    }
    EdgeTable& edges = launch.counts(number_).edges;
    if (access.space == Space::kDistributedShared) {
      std::unique_ptr<Shadow>& shadow = part.clusters[launch.geometry().cluster_of(access.block)];
      if (shadow == nullptr) shadow = std::make_unique<Shadow>(pools_.blocks.shadows());
      reuse_.apply(access, share.lanes, *shadow, edges);
    } else if (access.split) {
      reuse_.apply_split(access, share.lanes, part.global, edges, share_, split_lanes_);
    } else {
      reuse_.apply(access, share.lanes, part.global, edges, ahead);
    }
  }
}

}  // namespace cuvein
