// What the host and the patches of the GPU engine share: the state in device memory, what the host says of a
// launch, and how counts are keyed. Plain data, usable from CUDA and C++.
//
// An engine lies behind a channel. A launch that may use it has kGpuCandidate set in its userdata, which then
// is that channel and the slot; the first of its warps to run takes the engine, or leaves the launch to the
// host engine when another launch has it. So a launch waits for nobody. Launches of several streams get
// engines of their own, as far as there are any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/vocabulary.h"

namespace cuvein {
namespace gpu {

// What the patches look at all the time lies at fixed distances from the channel, so that no pointers have to
// be followed to it; behind it there is memory for as much.
constexpr uint64_t kEngineOffset = 4096;
constexpr uint64_t kStatesOffset = 8192;                   // kStates of State, by slot
constexpr uint64_t kStampsOffset = 64 << 10;               // of the multiprocessors
constexpr uint64_t kHintsOffset = 128 << 10;               // kHints numbers: where a range was last found
constexpr uint64_t kRangesOffset = 256 << 10;              // kMostRanges of Range
constexpr uint64_t kKeysOffset = 512 << 10;                // of the blocks at each multiprocessor
constexpr uint64_t kDirectoryOffset = 1 << 20;             // entries of the directory
constexpr uint64_t kSitesOffset = 2 << 20;                 // kSites
constexpr uint64_t kEndedOffset = 5 << 19;                 // kEndedBlocks numbers
constexpr uint64_t kNodesOffset = 3 << 20;                 // node keys of the sites
constexpr uint64_t kWaysOffset = (3 << 20) + (512 << 10);  // keys of kWays
constexpr uint64_t kResidentsOffset = 4 << 20;             // kResidents
constexpr uint64_t kOrdersOffset = 5 << 20;                // as many ResidentOrders
constexpr uint64_t kCountsOffset = 6 << 20;                // kCountSets, of sites and ways
constexpr uint64_t kKeptOffset = 12 << 20;                 // kFamilies of Kept
constexpr uint64_t kCountersOffset = 16 << 20;             // kAllCounters
constexpr uint64_t kMemoryBytes = 24 << 20;                // all of it
// The compiler (ptxas 13.5) takes what lies 4 to 8 MiB from an address in device memory for 8 MiB less in
// atomics that return what was there.
constexpr bool atomics_reach(uint64_t offset) { return (offset + (4 << 20)) % (16 << 20) < 8 << 20; }
static_assert(atomics_reach(kSitesOffset) && atomics_reach(kWaysOffset) && atomics_reach(kCountersOffset) &&
              atomics_reach(kEndedOffset) && atomics_reach(kKeptOffset));
constexpr unsigned kDirectoryBits = 17;
constexpr uint32_t kMultiprocessors = 192;  // more than any GPU has

// Launches that the host can describe at a time, by slot; copies of the state of the running launch, so that
// no multiprocessor finds an old one in its cache.
constexpr uint32_t kParameters = 16384;
constexpr uint32_t kStates = 256;

// Kernels of a graph share the slot of their replay. They are described behind the others and found by a key,
// which lies in one of a few places.
constexpr uint32_t kNodes = 4096;
constexpr uint32_t kNodePlaces = 8;
constexpr uint64_t node_key(uint32_t slot, uint32_t grid) { return uint64_t{slot + 1} << 32 | grid; }
constexpr uint32_t first_node_place(uint32_t slot, uint32_t grid) {
  return (slot * 0x9e3779b1u + grid) % (kNodes / kNodePlaces) * kNodePlaces;
}

// Where nothing is kept of blocks but how many threads have ended: of each block, or in launches of more
// blocks of those whose numbers differ by multiples of it.
#ifndef CUVEIN_ENDED_BLOCKS
#define CUVEIN_ENDED_BLOCKS (1 << 17)
#endif
constexpr uint32_t kEndedBlocks = CUVEIN_ENDED_BLOCKS;
static_assert(kEndedOffset + sizeof(uint32_t) * kEndedBlocks <= kNodesOffset);
// Additions at one address wait for one another, so where there are many blocks their ends are counted in
// parts.
#ifndef CUVEIN_ENDED_PARTS
#define CUVEIN_ENDED_PARTS 16
#define CUVEIN_FEW_BLOCKS 1024
#endif
constexpr uint32_t kEndedParts = CUVEIN_ENDED_PARTS;
constexpr uint32_t kFewBlocks = CUVEIN_FEW_BLOCKS;
static_assert(kFewBlocks >= kEndedParts);

constexpr uint32_t kMostRanges = 2048;
constexpr uint32_t kBlocksPerMultiprocessor = 32;
constexpr uint32_t kWarpsPerBlock = 32;
constexpr uint32_t kWarpsPerMultiprocessor = 64;
// Shared memory of a multiprocessor, and what the system keeps of it for each block.
constexpr uint32_t kSharedBytes = 228 * 1024;
constexpr uint32_t kReservedShared = 1024;

// An entry of the shadow, one for each unit of memory:
//   lane 5 | warp 5 | instruction (pc_bits) | clock | block (block_bits) | generation 6
// The clock's highest bit marks asynchronous copies into shared memory, where there are any; below it stands
// then how many groups of copies the warp had committed.
// Blocks are numbered through the grid or, where there are clusters, through the cluster and then the grid of
// clusters.
// Entries of another generation than the launch's are cold. Generation 0 is never used.
constexpr unsigned kInstructionShift = 10;
constexpr unsigned kGenerationShift = 58;
constexpr uint32_t kGenerations = 63;

// Bits for the numbers of blocks, of which `needed` are needed. Where the clock counts no more than barriers
// it can spare some, so that launches of not quite the same size are of one family.
constexpr unsigned kBlockBitsTogether = 4, kClockBitsKept = 20;
constexpr unsigned block_bits_of(unsigned needed, unsigned pc_bits, bool spares) {
  const unsigned more = (needed + kBlockBitsTogether - 1) / kBlockBitsTogether * kBlockBitsTogether;
  return spares && kInstructionShift + pc_bits + more + kClockBitsKept <= kGenerationShift ? more : needed;
}

// Pages of the shadow: this many entries each, wherever the units they stand for lie.
constexpr unsigned kPageEntriesBits = 19;
constexpr uint64_t kPageBytes = uint64_t{8} << kPageEntriesBits;
constexpr unsigned kPageShift = 22;

// Local memory has its shadow in such pages too, as if it lay far above all addresses: the units at one
// offset of all resident threads side by side, then those at the next.
constexpr uint64_t kLocalUnits = uint64_t{1} << 51;
constexpr uint32_t kLocalWindow = 1 << 24;  // bytes that a thread has at most

// So has what is known of the order of accesses to global memory, see gpu_order.cuh: its entries lie in pages
// as if each were that of a unit so far above the one it stands for.
constexpr uint64_t kOrderUnits = uint64_t{1} << 52;

// The directory finds the page of a unit: key above kDirectoryShift, number of the page (its address in units
// of kPageBytes) below; number 0: being made.
constexpr unsigned kDirectoryShift = 27;
constexpr uint64_t directory_key(uint64_t address, unsigned unit_shift) {
  return (address >> (kPageEntriesBits + unit_shift)) << 3 | unit_shift;
}

// Memory in which every byte belongs to one allocation.
struct Range {
  uint64_t first;
  uint64_t extent;  // bytes << 12 | number of the allocation + 1
};
constexpr unsigned kRangeShift = 12;
constexpr uint32_t kManyAllocations = (1u << kRangeShift) - 1;  // instead of a number + 1

// What the host says of a launch, in pinned host memory.
struct alignas(64) Parameters {
  uint32_t pc_base;     // low bits of the lowest address of the code
  uint32_t generation;  // 1 to kGenerations
  uint8_t pc_bits;
  uint8_t global_shift, shared_shift;  // log2 of the tracking unit
  uint8_t synchronises;                // has barriers: 1; has __syncwarp, too: 2
  uint8_t local_shift;                 // likewise, for local memory
  uint8_t local;                       // accesses local memory: 1
  uint16_t cluster[3];                 // its shape in blocks
  uint16_t shared;                     // accesses shared memory: 1
  uint16_t orders;                     // what barriers order is followed: 1
  uint32_t range_count;
  // Differs when generations have begun anew: 16 bits that count this at 16 | pages of the shadow that the
  // host has cleared since, 16.
  uint32_t cleared;
  const Range* ranges;     // pinned host memory
  uint64_t range_version;  // differs when the ranges differ
  uint64_t copies;         // Copies of all warps; 0: there are no asynchronous copies
  // kSharedBytes >> shared_shift entries for each multiprocessor; behind them as many of order, if followed.
  uint64_t shared_shadow;
};
static_assert(sizeof(Parameters) == 64, "the patches fetch all of it");

enum Decision : uint64_t { kUndecided = 0, kDeciding = 1, kOnGpu = 2, kOnHost = 3, kDecisionMask = 3 };

// The launch that runs on the engine, as all its warps see it.
struct alignas(128) State {
  uint32_t tag;  // slot + 1; 0: none
  uint32_t pc_base;
  uint64_t fixed;  // the part of entries that is the same for the launch
  // Side by side what is used together: loads of 16 bytes.
  uint32_t pc_limit, clock_shift, block_shift, clock_mask;
  uint32_t event_bits, global_shift, synchronises, copy_mask;  // copies of the counters used, less one
  uint32_t shared_shift, shared_stride;                        // log2 of the unit, entries of a block
  uint32_t blocks_per_multiprocessor;  // 0: nothing is kept of blocks, but how many threads have ended
  uint32_t range_count;
  uint64_t shared_shadow;
  uint64_t blocks;
  uint32_t threads;  // of a block
  uint32_t local_shift;
  uint32_t local;         // 1: has a shadow of local memory
  uint32_t cluster_bits;  // of a block's number within its cluster; 0: no clusters
  uint16_t cluster[3];    // shape in blocks
  uint16_t orders;        // 1: what barriers order is followed
  uint32_t copy_flag;     // marks asynchronous copies, in the clock; 0: they are not followed
  uint64_t copies;        // Copies of all warps
  uint32_t grid;          // id, of a kernel in a graph
  uint32_t place;         // of its description
};
static_assert(sizeof(State) == 128, "a multiprocessor's cache has all of it or nothing");

// Of a resident block.
struct Block {
  uint32_t exited;  // threads
  uint32_t reserved;
  // Where what barriers order is followed: the instruction + 1 of the barrier that a warp came to last, and
  // above 32 bits the clock behind it.
  unsigned long long barrier;
};
struct alignas(32) Warp {
  uint32_t clock;                        // block barriers passed
  uint32_t events;                       // full __syncwarp since the last of them
  uint32_t at_barrier, at_sync, exited;  // lanes
  uint32_t resident;                     // number + 1 of its Resident; 0: none
  // Instruction + 1 of the last barrier passed, and of the one that lanes have come to; where it is followed.
  uint32_t barrier, arriving;
};

// The asynchronous copies of a warp: groups that it has committed, and the last waits, each of which
// completed the copies issued before so many commits. As in the host engine.
constexpr uint32_t kWaitsKept = 16;
constexpr uint32_t kGroupsKept = 64;
struct alignas(16) Copies {
  uint32_t commits;
  uint32_t waits;      // in the list
  uint32_t forgotten;  // completed by waits that are no longer in the list
  uint32_t at_exit;    // what was completed when lanes of the warp ended
  struct {
    uint32_t before, clock;
  } wait[2 * kWaitsKept];
};

struct Counter {
  unsigned long long key;  // 0: free
  unsigned long long count;
};
// Tests have smaller tables, which overflow sooner.
#ifndef CUVEIN_COUNTERS_BITS
#define CUVEIN_COUNTERS_BITS 13
#define CUVEIN_OVERFLOW_BITS 18
#define CUVEIN_WAYS_BITS 13
#endif
constexpr uint32_t kCountersBits = CUVEIN_COUNTERS_BITS;  // of a copy
constexpr uint32_t kCounters = 1u << kCountersBits;
constexpr uint32_t kCopies = 32;
constexpr uint32_t kMostProbes = 16;
// Behind the copies, one table for all, for what found no counter there.
constexpr uint32_t kOverflowBits = CUVEIN_OVERFLOW_BITS;
constexpr uint32_t kOverflow = 1u << kOverflowBits;
constexpr uint32_t kMostOverflowProbes = 64;
constexpr uint32_t kAllCounters = kCopies * kCounters + kOverflow;
static_assert(kCountersOffset + sizeof(Counter) * kAllCounters <= kMemoryBytes);

constexpr uint32_t kHints = 256;

// What an access of a usual warp needs to know of its instruction, made by the first that comes by: a table
// of sites, direct-mapped. Few multiprocessors count together, since atomics at one address wait for one
// another. They keep parts of 16 bytes in their caches that others have since written: each part says for
// itself whose it is.
//
// What stands in a site depends on the code, the shape of the launch and its allocations. Launches that have
// these in common are a family, whose number is in their userdata (0: none), and find the sites that earlier
// ones of it have made; a site of another family makes way for one that is needed. All counts are zero when a
// launch begins.
#ifndef CUVEIN_SITES
#define CUVEIN_SITES 4096
#endif
constexpr uint32_t kSites = CUVEIN_SITES;
constexpr uint32_t kFamilies = 2048;
constexpr uint32_t kBeingMade = kFamilies;  // instead of a family
// The site of an instruction with that number, for global memory; for shared memory it lies half a table on,
// so that an instruction that accesses both, as copies do, has two. So the code of a family lies in one
// piece, which its number moves.
constexpr uint32_t moved_site(uint32_t instruction, uint32_t family) {
  return (instruction + family * (kSites > kFamilies ? kSites / kFamilies : 1)) % kSites;
}
// Of a multiprocessor: whether the running launch has warps there, which drop what is in its cache when they
// come. So no copy of what earlier launches had at a site is taken for what a later one has.
struct alignas(128) Stamp {
  uint32_t tag;  // slot + 1; 0: it has none
  uint32_t reserved;
  uint64_t fixed;  // as in State
};
static_assert(kStampsOffset + kMultiprocessors * sizeof(Stamp) <= kHintsOffset);
constexpr uint32_t kSiteWays = 4;
constexpr unsigned kWarpShift = 21;
constexpr unsigned kExtentShift = 21;         // of shared memory, in units that it is handed out in:
constexpr unsigned kSharedExtent = 7;         // log2 of their bytes
constexpr uint32_t kMostExtent = 0xffff0000;  // the lower half of addresses tells also sectors apart
constexpr uint32_t kNoResident = 1u << 31;
struct alignas(64) Site {
  uint32_t where;   // low bits of the pc + space
  uint32_t shifts;  // clusters or copies 1 at 31 | less than a word 1 at 30 | lanes served together, log2, 3
                    // at 27 | clock bits 5 at 22 | pc bits 5 at 17 | event bits 5 at 12 | block shift 6 at 6
                    // | units of an access, log2, 3 at 3 | unit shift 3
  // family; 0: free. In shared memory above kExtentShift how much of it the block has; in global memory
  // kNoResident, where nothing is kept of blocks.
  uint32_t tag;
  uint32_t entry;  // low part of shadow entries, without warp and lane
  uint32_t tag_of_window;
  uint32_t extent;  // bytes
  uint64_t first;   // address: accesses in this window are of one allocation
  // Outcomes that are counted here: of all lanes alike; 0: none yet.
  unsigned long long keys[kSiteWays];
};
struct alignas(64) SiteCounts {
  unsigned long long counts[kSiteWays];
};
static_assert(kSitesOffset + kSites * sizeof(Site) <= kNodesOffset && sizeof(Site) == sizeof(SiteCounts));
static_assert(kNodesOffset + kSites * sizeof(uint64_t) <= kWaysOffset);
// What has no outcome of all lanes alike is counted apart, what the access did as a whole and the edges of
// its lanes: at ways that all sites share. A key has one of a few ways side by side. Like sites they stay,
// and make way for those of other families.
//   tag 21 at 40 | what is counted of the edge 2 at 38 | site 12 at 26 | is facts 1 at 25 | edge key, or
//   facts as in the key of a node
constexpr unsigned kWaysBits = CUVEIN_WAYS_BITS;
constexpr uint32_t kWays = 1u << kWaysBits;
constexpr unsigned kTogetherBits = 2;  // ways side by side, log2
constexpr unsigned kWayValueBits = 25, kWaySiteShift = 26, kWayKindShift = 38, kWayTagShift = 40;
static_assert(kWaysOffset + kWays * 8 <= kResidentsOffset);
// The counts of a few multiprocessors, all of which are added up at the end of each launch: so few sets of
// them that this does not take long, so many that additions hardly wait for one another. Not a power of two,
// or those of one site would lie in one part of the second-level cache.
constexpr unsigned kCountingTogether = 4;  // multiprocessors, log2
constexpr uint32_t kCountSets = kMultiprocessors >> kCountingTogether;
static_assert(kCountSets <= 32);
constexpr uint64_t kCountSetBytes = kSites * sizeof(SiteCounts) + kWays * 8 + 37 * 128;
constexpr uint64_t kWayCountsOffset = kCountsOffset + kSites * sizeof(SiteCounts);
static_assert(kCountsOffset + kCountSets * kCountSetBytes <= kKeptOffset);
// Sites and ways of a family, a bit for each, and a bit for each stretch in which there are any. Some may be
// another's by now.
constexpr uint32_t kStretch = 128;
constexpr uint32_t words_for(uint32_t numbers) {
  return (numbers + kStretch - 1) / kStretch * (kStretch / 32);
}
struct alignas(16) Kept {
  unsigned long long site_stretches, way_stretches;
  uint32_t sites[words_for(kSites)];
  uint32_t ways[words_for(kWays)];
};
static_assert(kSites <= 64 * kStretch && kWays <= 64 * kStretch);
static_assert(kKeptOffset + kFamilies * sizeof(Kept) <= kCountersOffset);
// Brief facts: extra 5 at 10 | addresses - 1: 5 at 5 | lanes - 1: 5. Extra is sectors - 1, in shared memory
// ideal wavefronts - 1, or words - 1 where lanes have less than a word.

// A resident warp, by the place the hardware has it at. Where nothing is kept of blocks, there is none: what
// stands in entries is computed.
struct alignas(32) Resident {
  uint64_t entry;  // its part of shadow entries
  uint32_t tag;    // slot + 1, above kWarpShift the warp of the block
  uint32_t block;
  uint64_t shadow;  // of its block's shared memory
  Warp* warp;       // null: nothing is kept of blocks, but patches that follow barriers remember the warp
};
constexpr uint32_t kResidents = 256 * kWarpsPerMultiprocessor;

// Beside it, where what barriers order is followed.
struct alignas(32) ResidentOrder {
  uint64_t entry;    // its part of entries: generation, block, warp and clock
  uint64_t counter;  // address of what counts the bytes that its last barrier has ordered; 0: none
  uint64_t shadow;   // that of order, of its block's shared memory
  uint32_t shifts;   // followed 1 at 31 | has passed a barrier 1 at 30 | block shift 6 at 8 | log2 of the
                     // units: of global memory 4 at 4, of shared memory 4
  uint32_t stride;   // entries of the block's shared memory
};
static_assert(kOrdersOffset + sizeof(ResidentOrder) * kResidents <= kCountsOffset);
static_assert(kResidentsOffset + sizeof(Resident) * kResidents <= kOrdersOffset);

// Why a graph is not exact, or which part of it is not known.
enum Finding : uint32_t {
  kFineAccess = 1,       // an access finer than the tracking unit
  kFarCode = 2,          // code outside the known functions
  kOutOfPages = 4,       // no shadow left
  kSharedOverrun = 8,    // a shared address beyond what the launch has
  kNamedBarrier = 16,    // order of block edges not known
  kPartialSync = 32,     // order within warps not known
  kClockSaturated = 64,  // order partly not known
  kLocalAccess = 128,    // local memory in a kernel that seemed to have none
  kCopiesUnknown = 256,  // when asynchronous copies are complete
  kOrderFollowed = 512,  // what barriers order is known,
  kOrderUnknown = 1024,  // unless something stood in the way
  kNotExact = kFineAccess | kFarCode | kOutOfPages | kSharedOverrun | kLocalAccess,
};

// Lives in device memory, behind the channel.
struct Engine {
  const Parameters* parameters;  // pinned host memory: kParameters by slot, then those of kernels in graphs
  const uint64_t* node_keys;     // pinned host memory
  // As many: a Decision; above it the threads that ended on the host's, or for a kernel of a graph its key.
  unsigned long long* decisions;
  const uint64_t* pages;       // pinned host memory: addresses of zeroed pages
  const uint32_t* page_count;  // pinned host memory
  Block* block_states;         // kBlocksPerMultiprocessor for each multiprocessor
  Warp* warps;                 // kWarpsPerBlock for each of those
  uint32_t* locks;             // by multiprocessor
  uint32_t* used;              // numbers of the counters in use
  // What follows changes.
  alignas(128) uint32_t owner;  // tag of the launch that has the engine; 0: none
  uint32_t pages_taken;
  uint64_t range_version;
  uint32_t cleared;  // as in the last launch's parameters
  alignas(128) uint32_t used_count;
  uint32_t findings;
  uint32_t spilled;                     // blocks were found a place at another multiprocessor
  uint32_t ran[kMultiprocessors / 32];  // multiprocessors at which the launch has warps, a bit for each
  // Where nothing is kept of blocks: of kEndedBlocks at most, or of the parts that these are counted in.
  alignas(128) unsigned long long blocks_ended;
  struct alignas(128) {
    uint32_t ended;
  } parts[kEndedParts];  // blocks ended, by the number's remainder
};
static_assert(kEngineOffset + sizeof(Engine) <= kStatesOffset);

// Counts, as they are keyed in the tables and leave the GPU: kind in the highest four bits.
enum class Count : uint32_t {
  kLanes = 1,       // edge: lanes all of whose bytes are on it
  kBytes = 2,       // edge: bytes of other lanes
  kPartLanes = 3,   // edge: those lanes
  kExecutions = 4,  // node
  kAllocation = 5,  // node: bytes in an allocation, of executions that touched several
  kLaneBytes = 6,   // node: bytes, of executions whose lanes have different sizes
  kBarrier = 7,     // executions of what synchronises
  kFindings = 8,
  kOrdered = 9,  // bytes that a block barrier has ordered
};

// Edge keys, as the classification yields them: origin + 1 (0: cold) << 4 | label << 1 | unordered.
constexpr uint32_t edge_key(uint32_t origin_plus_one, Label label, bool unordered) {
  return origin_plus_one << 4 | static_cast<uint32_t>(label) << 1 | static_cast<uint32_t>(unordered);
}
constexpr unsigned kMostInstructionBits = 20;

// count:4 at 60 | size:3 at 57 | space:2 at 55 | unused | instruction:20 at 25 | edge key:25
constexpr uint64_t edge_count(Count count, Space space, uint32_t instruction, uint32_t edge,
                              unsigned size_shift) {
  return static_cast<uint64_t>(count) << 60 | static_cast<uint64_t>(size_shift) << 57 |
         static_cast<uint64_t>(space) << 55 | static_cast<uint64_t>(instruction) << 25 | edge;
}

// count:4 at 60 | size:3 at 57 | space:2 at 55 | type:2 at 53 | asynchronous:1 at 52 | lane sizes differ:1 at
// 51 | instruction:20 at 31 | facts:31
// facts: global and local: allocation + 1:12 at 19 | sectors - 1:9 at 10 | addresses - 1:5 at 5 | lanes - 1:5
//        shared: ideal - 1:2 at 17 | wavefronts - 1:5 at 12 | words - 1:7 at 5 | lanes - 1:5
constexpr uint64_t node_count(Count count, Space space, AccessType type, bool asynchronous, bool sizes,
                              uint32_t instruction, unsigned size_shift, uint32_t facts) {
  return static_cast<uint64_t>(count) << 60 | static_cast<uint64_t>(size_shift) << 57 |
         static_cast<uint64_t>(space) << 55 | static_cast<uint64_t>(type) << 53 |
         static_cast<uint64_t>(asynchronous) << 52 | static_cast<uint64_t>(sizes) << 51 |
         static_cast<uint64_t>(instruction) << 31 | facts;
}
constexpr uint32_t global_facts(uint32_t lanes, uint32_t addresses, uint32_t sectors, uint32_t allocation) {
  return allocation << 19 | (sectors - 1) << 10 | (addresses - 1) << 5 | (lanes - 1);
}
constexpr uint32_t shared_facts(uint32_t lanes, uint32_t words, uint32_t wavefronts, uint32_t ideal) {
  return (ideal - 1) << 17 | (wavefronts - 1) << 12 | (words - 1) << 5 | (lanes - 1);
}
constexpr uint32_t with_wavefronts(uint32_t facts, uint32_t wavefronts) {
  return (facts & ~(31u << 12)) | (wavefronts - 1) << 12;
}

// count:4 at 60 | kind:2 at 55 | instruction:20 at 31
constexpr uint64_t barrier_count(BarrierKind kind, uint32_t instruction) {
  return static_cast<uint64_t>(Count::kBarrier) << 60 | static_cast<uint64_t>(kind) << 55 |
         static_cast<uint64_t>(instruction) << 31;
}

// count:4 at 60 | instruction:20 at 31
constexpr uint64_t ordered_count(uint32_t instruction) {
  return static_cast<uint64_t>(Count::kOrdered) << 60 | static_cast<uint64_t>(instruction) << 31;
}

// An outcome of an access, as sites count it: tag 21 at 40 | edge key 25 at 15 | brief facts 15.
constexpr unsigned kExtraShift = 10, kAddressesShift = 5, kEdgeShift = 15, kTagShift = 40;
constexpr uint64_t kEdgeMask = (1u << (kTagShift - kEdgeShift)) - 1;
constexpr uint64_t outcome(uint32_t tag, uint32_t edge, uint32_t facts) {
  return static_cast<uint64_t>(tag) << kTagShift | static_cast<uint64_t>(edge) << kEdgeShift | facts;
}

// The key of a site's node, with all facts.
constexpr uint64_t node_of(uint64_t node, uint32_t facts) {
  const uint32_t lanes = (facts & 31) + 1, addresses = (facts >> kAddressesShift & 31) + 1;
  const uint32_t extra = (facts >> kExtraShift) + 1;
  const uint32_t size_shift = node >> 57 & 7;
  if (static_cast<Space>(node >> 55 & 3) == Space::kGlobal)
    return node | global_facts(lanes, addresses, extra, 0);
  const uint32_t words = size_shift < 2 ? extra : addresses << (size_shift - 2);
  const uint32_t ideal = size_shift < 2 ? 1 : extra;
  return node | shared_facts(lanes, words, ideal, ideal);
}
constexpr uint32_t instruction_of(uint64_t node) {
  return static_cast<uint32_t>(node >> 31) & ((1u << kMostInstructionBits) - 1);
}
constexpr uint64_t edge_of(uint64_t node, uint32_t edge, Count count) {
  return edge_count(count, static_cast<Space>(node >> 55 & 3), instruction_of(node), edge,
                    count == Count::kLanes ? node >> 57 & 7 : 0);
}
// The edge of lanes that met others of their instruction.
constexpr uint64_t others_of(uint64_t node) {
  return edge_of(node, edge_key(instruction_of(node) + 1, Label::kWarpSameInst, false), Count::kLanes);
}

// An outcome at a site is up to three counts: its edge, its node, and the lanes that met others.
constexpr uint32_t kParts = 3;
struct Part {
  uint64_t key;
  uint64_t count;
};
constexpr Part part_of(uint64_t node, uint64_t outcome, uint32_t part) {
  const uint32_t facts = static_cast<uint32_t>(outcome) & ((1u << kEdgeShift) - 1);
  const uint32_t edge = static_cast<uint32_t>(outcome >> kEdgeShift & kEdgeMask);
  const uint32_t lanes = (facts & 31) + 1, addresses = (facts >> kAddressesShift & 31) + 1;
  if (part == 0) return {edge_of(node, edge, Count::kLanes), addresses};
  if (part == 1) return {node_of(node, facts), 1};
  return {others_of(node), lanes - addresses};
}

// Records by which counts leave the GPU, in the ring like all others: key in `address`, count in `value`,
// which may be 0. Where `block` is not 0 it is an outcome, counted at a site whose node is in `address`. The
// launch's end, which the GPU reports itself on the GPU engine, comes after the last of them.
constexpr uint8_t kCountRecord = 0x80;

}  // namespace gpu

}  // namespace cuvein
