// One observed launch, from its begin to its end.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/aggregate.h"
#include "analyzer/engine.h"
#include "monitor/allocations.h"
#include "monitor/modules.h"
#include "profile/document.h"

namespace cuvein {

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  uint64_t memory = 0;  // bytes; 0: not known
};

class GpuEngine;

// The analyzer has a class of this name, too, and both end up in one library.
inline namespace observed {

struct Launch {
  uint32_t sequence = 0;
  uint32_t slot = 0;
  uint32_t grid_id = 0;  // of the launch, for the patches; counts in graphs only
  std::shared_ptr<const Entry> entry;
  std::shared_ptr<Module> module;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  uint64_t dynamic_shared = 0;
  int context = 0;
  int stream = 0;
  CUstream stream_handle = nullptr;
  std::optional<std::array<int64_t, 3>> graph;  // instantiated graph, replay, node
  std::shared_ptr<const AllocationList> allocations;
  std::shared_ptr<const CallSite> site;
  uint64_t question = 0;  // of the Python side: what there is by now

  // When the GPU engine may take the launch; else why it may not, if that was to be.
  std::shared_ptr<GpuEngine> gpu;
  int64_t code_base = 0;      // lowest address of its code, from the entry
  int ranges_used = 0;        // of the GPU engine
  uint32_t described_at = 0;  // likewise: where the device finds what it is told
  uint32_t family = 0;        // likewise: launches that share what is known of instructions
  std::string host_reason;

  // Of the thread that drains the ring.
  std::unique_ptr<Aggregate> aggregate;  // counts of the GPU engine
  bool ended_on_gpu = false;             // the GPU engine has taken it, and it has ended
  uint64_t threads = 0;                  // that have to end
  uint64_t ended = 0;                    // that have ended
  bool begun = false;                    // known to the output
  bool on_host = false;                  // and to the host engine
  DeviceFacts device;                    // while begun

  LaunchShape shape() const;
  // The Launch document; where `wanted` is given, with null for all other allocations.
  std::string document(const std::vector<bool>* wanted) const;
  // Likewise, for a launch without call sites; false: it, or an allocation, has one. `merged`: how many
  // launches it stands for, 0: it is only one.
  bool parts(const std::vector<bool>& wanted, uint64_t merged, LaunchParts* parts) const;
  // What there is of a launch that the GPU engine alone has analysed, see profile/counted.h; empty: it, or an
  // allocation, has a call site, or it is too large. `incomplete`: why it is not whole; empty: it is.
  std::string counted(const ProcessParts& process, const std::string& incomplete) const;

 private:
  std::string members() const;
};

}  // namespace observed

// The open launches of a context, by the numbers that their records carry: a slot for each launch, or for
// each replay of a graph. The kernels of a replay share one since the patches in all of them see what the API
// was told last; they are told apart by their grid id, which for other launches need not be looked at.
class LaunchSlots {
 public:
  LaunchSlots();
  ~LaunchSlots();
  LaunchSlots(const LaunchSlots&) = delete;
  LaunchSlots& operator=(const LaunchSlots&) = delete;

  static constexpr uint32_t kNone = ~uint32_t{0};  // every slot is taken

  // Returns the slot; the launch is owned until close().
  uint32_t open(std::unique_ptr<Launch> launch);

  // The same for a replay, to which launches are added until it is sealed.
  uint32_t open_replay();
  void add(uint32_t slot, std::unique_ptr<Launch> launch);
  void seal(uint32_t slot);

  Launch* find(uint32_t slot, uint32_t grid_id);
  std::unique_ptr<Launch> close(Launch* launch);
  std::vector<Launch*> open_launches();
  uint64_t open_count(const CUstream* stream);  // of all streams: null

 private:
  struct Slot {
    bool replay = false;
    bool sealed = true;
    bool given_up = false;  // its threads may still write: not to be used again
    std::vector<std::unique_ptr<Launch>> launches;
  };

  uint32_t take(std::unique_ptr<Slot> slot);
  void count(const Launch& launch);
  void release(uint32_t number);  // if nothing is open in it

  static constexpr uintptr_t kReplay = 1;  // added to the pointer to a slot of a replay

  Slot* slot(uint32_t number) const {
    return reinterpret_cast<Slot*>(slots_[number].load(std::memory_order_relaxed) & ~kReplay);
  }

  // Pointers to slots, as many as there are numbers; pages come into being with their use. The drain reads
  // those of launches without the lock, since it alone closes them; replays may be closed by their seal.
  std::atomic<uintptr_t>* slots_;
  std::mutex mutex_;           // guards what follows
  std::deque<uint32_t> free_;  // the one that was free longest comes first
  uint32_t next_ = 0;
  std::atomic<uint64_t> count_{0};
  std::unordered_map<CUstream, uint64_t> by_stream_;  // only those with open launches
};

}  // namespace cuvein
