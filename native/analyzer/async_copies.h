// Asynchronous copies into shared memory (cp.async): which of them the threads of a block have waited for,
// and how many wavefronts they take.
//
// A thread's copies belong to the group that it commits next; waiting with `pending` completes all of its
// groups but the last so many. Copies are named by the thread and by how many commits its warp had made when
// they were issued, which fits the shadow's origin.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/access.h"

namespace cuvein {

class AsyncCopies {
 public:
  explicit AsyncCopies(uint32_t threads) : warps_((threads + 31) / 32) {}

  // Takes the records of the block in stream order; `stamp`: the warp's clocks.
  void commit(unsigned warp, uint32_t active);
  void wait(unsigned warp, uint32_t active, uint64_t pending, const Stamp& stamp);
  // From here on copies may be waited for by means that are not followed.
  void set_unknown() { unknown_ = true; }

  // Commits of the warp so far: the name of copies issued now.
  uint32_t commits(unsigned warp) const { return warps_[warp].commits; }

  // A copy is two records of its warp: this access to global memory, by the lanes that do not only fill with
  // zeros, and then the one to shared memory, at the next pc.
  void read(const Access& access, int32_t pc);
  // Wavefronts of the latter, where it went through L1.
  unsigned wavefronts(const Access& access, int32_t pc);

  // What is known of the wait that completed a copy.
  struct Completion {
    enum { kNone, kAt, kUnknown } state;
    uint32_t clock, events;  // of the warp at the wait
  };
  Completion completion(unsigned warp, unsigned lane, uint32_t issued) const;

 private:
  struct Wait {
    uint32_t before;  // completed the copies issued before so many commits of the warp
    uint32_t clock, events;
  };
  struct Lane {
    std::vector<uint32_t> groups;  // the warp's commits with which this lane's last groups ended
    std::vector<Wait> waits;       // the last ones, each completing more than the one before
    uint32_t forgotten = 0;        // completed by waits that are no longer listed
    int32_t read_at = 0;           // pc of the access to global memory, if the lane is among `readers`
  };
  struct Warp {
    uint32_t commits = 0;
    uint32_t readers = 0;  // lanes of copies of which the access to shared memory is still to come
    uint8_t sources[kWarpLanes] = {};
    Lane lanes[kWarpLanes];
  };

  std::vector<Warp> warps_;
  bool unknown_ = false;
};

}  // namespace cuvein
