#include "analyzer/async_copies.h"

#include <algorithm>

#include "analyzer/distributions.h"
#include "analyzer/origin.h"

namespace cuvein {

namespace {

// A program that leaves more groups pending, or reads a copy that many waits later, is taken to be in order.
constexpr size_t kGroupsKept = 64, kWaitsKept = 16;

template <typename T>
void keep_last(std::vector<T>& values, size_t count) {
  // Now and then, so that it costs nothing on average.
  if (values.size() >= 2 * count)
    values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(count));
}

}  // namespace

void AsyncCopies::commit(unsigned index, uint32_t active) {
  Warp& warp = warps_[index];
  if (warp.commits < kMaxClock) ++warp.commits;
  each_lane(active, [&](unsigned lane) {
    std::vector<uint32_t>& groups = warp.lanes[lane].groups;
    groups.push_back(warp.commits);
    keep_last(groups, kGroupsKept);
  });
}

void AsyncCopies::wait(unsigned warp, uint32_t active, uint64_t pending, const Stamp& stamp) {
  if (pending >= kGroupsKept) {
    set_unknown();
    return;
  }
  each_lane(active, [&](unsigned number) {
    Lane& lane = warps_[warp].lanes[number];
    if (lane.groups.size() <= pending) return;
    const uint32_t before = lane.groups[lane.groups.size() - 1 - pending];
    const uint32_t known = lane.waits.empty() ? lane.forgotten : lane.waits.back().before;
    if (before <= known) return;
    lane.waits.push_back({before, stamp.clock, stamp.events});
    if (lane.waits.size() >= 2 * kWaitsKept) lane.forgotten = lane.waits[kWaitsKept - 1].before;
    keep_last(lane.waits, kWaitsKept);
  });
}

void AsyncCopies::read(const Access& access, int32_t pc) {
  Warp& warp = warps_[access.warp];
  warp.readers |= access.active;
  each_address(access, access.active, [&](unsigned lane, uint64_t address) {
    warp.lanes[lane].read_at = pc;
    warp.sources[lane] = static_cast<uint8_t>(address % kRowBytes);
  });
}

unsigned AsyncCopies::wavefronts(const Access& access, int32_t pc) {
  Warp& warp = warps_[access.warp];
  uint32_t readers = 0;
  // Other lanes of a warp that has diverged may be between their two accesses of another copy.
  each_lane(access.active & warp.readers,
            [&](unsigned lane) { readers |= uint32_t{warp.lanes[lane].read_at == pc - 1} << lane; });
  warp.readers &= ~access.active;
  return wavefronts_of_copy(access, readers, warp.sources);
}

AsyncCopies::Completion AsyncCopies::completion(unsigned warp, unsigned lane_number, uint32_t issued) const {
  const Lane& lane = warps_[warp].lanes[lane_number];
  if (unknown_ || issued == kMaxClock || issued < lane.forgotten) return {Completion::kUnknown, 0, 0};
  const auto wait = std::find_if(lane.waits.begin(), lane.waits.end(),
                                 [&](const Wait& each) { return issued < each.before; });
  if (wait == lane.waits.end()) return {Completion::kNone, 0, 0};
  return {Completion::kAt, wait->clock, wait->events};
}

}  // namespace cuvein
