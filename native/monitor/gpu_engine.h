// The host's side of the GPU engine of one context: its memory, and which launches it may take.
#pragma once

#include <sanitizer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/gpu_engine.h"
#include "monitor/launch.h"
#include "monitor/modules.h"

namespace cuvein {

class GpuEngine {
 public:
  // `channel`: where the context's channel lies on the device. `budget`: bytes of shadow at most.
  GpuEngine(CUcontext context, uint64_t channel, uint64_t budget)
      : context_(context), channel_(channel), budget_(budget) {}

  // Describes the launch to the device, which then decides. Not empty: the reason why the host engine has to
  // take it. Nothing waits; what there is to prepare is put into the launch's stream.
  std::string admit(Launch* launch, uint32_t slot, Sanitizer_StreamHandle stream);

  // An admitted launch is over.
  void ended(const Launch& launch);

 private:
  // Where the code lies that a kernel may run.
  struct Span {
    std::shared_ptr<const Entry> entry;
    int64_t base;  // from the kernel's entry
    unsigned bits;
    CodeFacts facts;
  };
  struct Ranges {
    std::shared_ptr<const AllocationList> list;
    uint64_t version = 0;
    uint32_t count = 0;
    uint32_t users = 0;
  };

  bool prepare(Sanitizer_StreamHandle stream, std::string* reason);
  bool allocate(uint64_t bytes, void** memory, bool zero, Sanitizer_StreamHandle stream);
  const Span& span(const Launch& launch);
  bool alone(const Launch& launch) const;
  bool provide_pages(const Launch& launch, unsigned shift, Sanitizer_StreamHandle stream,
                     std::string* reason);
  bool provide_generation(const Launch& launch, Sanitizer_StreamHandle stream, std::string* reason);
  int provide_ranges(const Launch& launch);
  void* provide_shared(unsigned shift, Sanitizer_StreamHandle stream);

  const CUcontext context_;
  const uint64_t channel_;
  const uint64_t budget_;
  std::mutex mutex_;
  bool failed_ = false;
  bool prepared_ = false;
  uint64_t allocated_ = 0;
  gpu::Parameters* parameters_ = nullptr;  // pinned host memory, like what follows
  uint64_t* pages_ = nullptr;
  uint32_t* page_count_ = nullptr;
  gpu::Range* range_memory_ = nullptr;
  std::vector<Ranges> ranges_;
  uint64_t range_version_ = 0;
  std::vector<bool> described_;                              // parameters in use
  std::vector<std::pair<uint64_t, uint64_t>> page_regions_;  // address, bytes
  std::set<uint64_t> known_pages_;              // keys that launches so far may have taken pages for
  const AllocationList* known_list_ = nullptr;  // whose pages are among them, for a unit
  unsigned known_shift_ = 0;
  uint32_t generation_ = 0;
  std::map<CUstream, uint32_t> open_;  // admitted launches by stream
  CUstream cleared_on_ = nullptr;      // where memory was last prepared
  uint32_t cleared_before_ = 0;        // the launch that it was prepared for; 0: that is past
  void* shared_[3] = {};               // by log2 of the unit
  std::unordered_map<const Entry*, Span> spans_;
};

}  // namespace cuvein
