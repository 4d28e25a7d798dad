// The packing of records inside a chunk. Every chunk starts afresh, so each can be read alone.
//
// Records that agree in everything that is fixed by the code (kind, instruction, launch) share a context; a
// context predicts address, mask and stride of its next record from those before. docs/trace-format.md has it
// bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/records.h"

namespace cuvein::trace {

struct Context {
  RecordHeader fixed;  // kind, form, flags, space, type, size, pc, launch, length; the rest is 0
  uint64_t address = 0;
  uint64_t block = 0;
  uint64_t block_step = 0, warp_step = 0, repeat_step = 0;  // modulo 2^64
  int64_t value = 0;
  uint32_t mask = 0xffffffff;
  uint8_t warp = 0;
  uint8_t shift = 0;       // addresses are multiples of 2^shift
  uint8_t confidence = 0;  // right predictions of late
  int32_t successor = -1;  // the context that followed in the same warp

  uint64_t predict(uint64_t to_block, uint8_t to_warp) const {
    if (to_block == block && to_warp == warp) return address + repeat_step;
    return address + (to_block - block) * block_step + (static_cast<uint64_t>(to_warp) - warp) * warp_step;
  }
  void learn(const RecordHeader& header, bool hit);
};

// What encoder and decoder know alike after the same records.
class History {
 public:
  void clear();

 protected:
  static constexpr unsigned kWarpSlots = 4096;
  static constexpr size_t kMostContexts = 65536;
  static unsigned slot(uint64_t block, uint8_t warp) {
    return static_cast<unsigned>((block * 32 + warp) * 0x9e3779b97f4a7c15u >> 52);
  }
  int32_t expected_context() const {
    int32_t last = last_of_warp_[slot_];
    return last < 0 ? -1 : contexts_[static_cast<size_t>(last)].successor;
  }
  void follow(int32_t context) {
    int32_t& last = last_of_warp_[slot_];
    if (last >= 0) contexts_[static_cast<size_t>(last)].successor = context;
    last = context;
  }

  std::vector<Context> contexts_;
  std::vector<int32_t> last_of_warp_ =
      std::vector<int32_t>(kWarpSlots, -1);  // by slot: context of its last record
  uint64_t block_ = 0;
  uint8_t warp_ = 0;
  unsigned slot_ = slot(0, 0);
};

class RecordEncoder : private History {
 public:
  RecordEncoder();
  // A record that check_record() finds valid. Padding leaves no trace.
  void append(const unsigned char* record, size_t length);
  const uint8_t* data() const { return buffer_.data(); }
  size_t bytes() const { return used_; }
  size_t decoded_bytes() const { return decoded_; }
  bool full() const { return contexts_.size() >= kMostContexts; }
  void clear();

 private:
  int32_t find_context(const RecordHeader& header, bool* fresh);
  void grow_index();

  std::vector<uint8_t> buffer_;
  size_t used_ = 0;
  size_t decoded_ = 0;
  std::vector<int32_t> index_;  // open addressing: hash of the fixed fields -> context
};

class RecordDecoder : private History {
 public:
  // Bytes that must be readable after the packed ones; what is read there is never used.
  static constexpr size_t kPadding = 512;
  // Null, or what is wrong. The records are the first `decoded` bytes of *out then; it is larger than that.
  const char* decode(const uint8_t* packed, size_t bytes, size_t decoded, std::vector<unsigned char>* out);

 private:
  // Where the next record begins, null when this one makes no sense.
  const uint8_t* decode_record(const uint8_t* in, Record* record);
  const uint8_t* decode_context(const uint8_t* in, int32_t* context);
};

}  // namespace cuvein::trace
