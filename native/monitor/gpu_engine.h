// The host's side of a GPU engine: its memory, and which launches it may take.
#pragma once

#include <sanitizer.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/gpu_engine.h"
#include "monitor/gpu_families.h"
#include "monitor/launch.h"
#include "monitor/modules.h"
#include "patches/channel.h"

namespace cuvein {

// Bytes of device memory that the engines of a context may take, and have taken.
class Budget {
 public:
  // `asked` is what the user allows, 0: not said; `device` what the device has, 0: not known yet. It lives as
  // long as the context.
  Budget(uint64_t asked, const std::atomic<uint64_t>* device) : asked_(asked), device_(device) {}

  bool has(uint64_t bytes) const;
  void take(uint64_t bytes) { taken_ += bytes; }

 private:
  const uint64_t asked_;
  const std::atomic<uint64_t>* const device_;
  std::atomic<uint64_t> taken_{0};
};

class GpuEngine {
 public:
  // `channel` is what the engine's channel holds; it lies on the device at `base`, or at 0: nowhere yet.
  // `barrier_order`: what block barriers order is followed.
  GpuEngine(CUcontext context, const Channel& channel, uint64_t base, std::shared_ptr<Budget> budget,
            bool barrier_order)
      : context_(context),
        channel_(channel),
        barrier_order_(barrier_order),
        base_(base),
        budget_(std::move(budget)) {}

  // A launch of the stream is about to be admitted: it counts as open.
  void claim(CUstream stream);
  void unclaim(CUstream stream);  // it is not
  // No launch is open but of this stream.
  bool serves_only(CUstream stream) const;
  bool idle() const;

  // Describes a claimed launch to the device, which then decides. Not empty: the reason why the host engine
  // has to take it. Nothing waits; what there is to prepare is put into the launch's stream.
  std::string admit(Launch* launch, uint32_t slot, Sanitizer_StreamHandle stream);

  // Makes sure that there is an engine on the device; not empty: the reason why there is none.
  std::string prepare(Sanitizer_StreamHandle stream);

  // What the patches are told of a launch of this family (0: of none), or of all kernels of a replay; of a
  // prepared engine.
  const void* userdata(uint32_t slot, bool replay, uint32_t family = 0) const {
    return reinterpret_cast<const void*>(base_ + slot + kGpuCandidate + (replay ? kReplay : 0) +
                                         (uint64_t{family} << kFamilyShift));
  }

  // An admitted launch is over. Waits for nobody.
  void ended(const Launch& launch);

 private:
  struct Past {
    uint32_t place;
    int ranges;
    CUstream stream;
    uint32_t sequence;
  };
  // Where the code lies that a kernel may run.
  struct Span {
    std::shared_ptr<const Entry> entry;
    int64_t base;  // from the kernel's entry
    unsigned bits;
    uint32_t instructions;
    CodeFacts facts;
    uint32_t stack;  // bytes of local memory a thread
  };
  struct Ranges {
    std::shared_ptr<const AllocationList> list;
    uint64_t version = 0;  // 0: never given
    std::vector<gpu::Range> given;
    uint32_t users = 0;
  };

  bool make(Sanitizer_StreamHandle stream);
  std::string describe(Launch* launch, uint32_t slot, Sanitizer_StreamHandle stream);
  void settle();
  void release(CUstream stream);
  uint32_t find_place(const Launch& launch, uint32_t slot) const;
  bool allocate(uint64_t bytes, void** memory, bool zero, Sanitizer_StreamHandle stream);
  const Span& span(const Launch& launch);
  bool know_pages(const std::shared_ptr<const AllocationList>& list, unsigned shift, bool orders);
  void forget_pages();
  bool provide_pages(const Launch& launch, unsigned shift, bool orders, Sanitizer_StreamHandle stream,
                     std::string* reason);
  bool provide_generation(const Launch& launch, Sanitizer_StreamHandle stream, std::string* reason);
  int provide_ranges(const Launch& launch);
  uint32_t provide_family(const Launch& launch, uint64_t range_version, bool orders);
  bool clear_sites(Sanitizer_StreamHandle stream);
  void count_local_pages(const Launch& launch, const Span& code);
  uint64_t expected_pages() const;
  uint64_t wanted_pages() const;
  void* provide_copies(Sanitizer_StreamHandle stream);
  void* provide_shared(const Launch& launch, unsigned shift, Sanitizer_StreamHandle stream);

  const CUcontext context_;
  const Channel channel_;
  const bool barrier_order_;
  uint64_t base_;
  const std::shared_ptr<Budget> budget_;

  mutable std::mutex open_mutex_;      // never held while something is asked of CUDA; guards what follows
  std::map<CUstream, uint32_t> open_;  // claimed launches by stream
  std::vector<Past> past_;             // launches that ended since the last was admitted

  std::mutex mutex_;  // guards what follows
  bool failed_ = false;
  bool prepared_ = false;
  gpu::Parameters* parameters_ = nullptr;  // pinned host memory, like what follows
  uint64_t* node_keys_ = nullptr;
  uint64_t* pages_ = nullptr;
  uint32_t* page_count_ = nullptr;
  gpu::Range* range_memory_ = nullptr;
  std::vector<Ranges> ranges_;
  uint64_t range_version_ = 0;
  std::vector<bool> described_;                              // parameters in use
  std::vector<std::pair<uint64_t, uint64_t>> page_regions_;  // address, bytes
  std::set<uint64_t> known_pages_;  // keys that launches so far may have taken pages for
  std::set<std::pair<const Entry*, uint64_t>> known_stacks_;  // whose pages are counted, for so many threads
  uint64_t local_pages_ = 0;                                  // for local memory of launches so far
  // Held, since another list may come to lie where one was.
  std::shared_ptr<const AllocationList> known_list_;  // whose pages are among them, for a unit
  unsigned known_shift_ = 0;
  std::shared_ptr<const AllocationList> refused_list_;  // for which they were too many with those of order
  bool known_orders_ = false;                           // with those of what barriers order
  std::vector<uint64_t> added_pages_;  // of those, the ones that the last launch was the first to need
  uint32_t generation_ = 0;
  uint32_t cleared_ = 0;  // see gpu::Parameters
  Families families_;
  CUstream cleared_on_ = nullptr;  // where memory was last prepared
  uint32_t cleared_before_ = 0;    // the launch that it was prepared for; 0: that is past
  void* copies_ = nullptr;
  void* shared_[3] = {};      // by log2 of the unit
  bool shared_used_[3] = {};  // by a launch since it was cleared
  std::unordered_map<const Entry*, Span> spans_;
};

}  // namespace cuvein
