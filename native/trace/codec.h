// The packing of records inside a chunk. Every chunk starts afresh, so each can be read alone.
//
// Records that agree in everything that is fixed by the code (kind, instruction, launch) share a context; a
// context predicts address, mask and stride of its next record from those before. docs/trace-format.md has it
// bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
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
  uint8_t shift = 0;  // addresses are multiples of 2^shift
  // Right predictions of late: from other warps by the steps, from the same warp by repeat_step.
  uint8_t trust_steps = 0, trust_repeat = 0;
  int32_t successor = -1;  // the context that followed in the same warp
};

// What a warp last did in a context.
struct Visit {
  uint64_t key = 0;
  uint64_t address = 0;
};

// What encoder and decoder know alike after the same records.
class History {
 public:
  History();
  void clear();

 protected:
  static constexpr unsigned kSlotBits = 14, kVisitBits = 17;
  static constexpr size_t kMostContexts = 65535;
  void move_to(uint64_t block, uint8_t warp) {
    block_ = block;
    warp_ = warp;
    place_ = (block * 32 + warp + 1) * 0x9e3779b97f4a7c15u;
  }
  // The context that follows the warp's last one by experience, or -1.
  int32_t expected_context() const {
    const uint32_t last = last_of_warp_[slot()];
    return last >> 16 == (generation_ & 0xffff) ? contexts_[last & 0xffff].successor : -1;
  }
  void follow(int32_t context) {
    uint32_t& last = last_of_warp_[slot()];
    if (last >> 16 == (generation_ & 0xffff)) contexts_[last & 0xffff].successor = context;
    last = generation_ << 16 | static_cast<uint32_t>(context);
  }
  // Where the warp will access in the context; to be followed by learn() with the truth.
  uint64_t predict(const Context& context, int32_t index);
  void learn(Context* context, const RecordHeader& header);

  std::vector<Context> contexts_;
  uint64_t block_ = 0;
  uint8_t warp_ = 0;

 private:
  unsigned slot() const { return static_cast<unsigned>(place_ >> (64 - kSlotBits)); }

  uint64_t place_ = 0;       // hash of block and warp
  uint32_t generation_ = 0;  // of the chunk, so that the tables need not be wiped for each
  std::vector<uint32_t>
      last_of_warp_;           // by slot: low half of the generation, context of the warp's last record
  std::vector<Visit> visits_;  // by hash of context and warp
  Visit* visit_ = nullptr;     // the one predict() looked at
  uint64_t visit_key_ = 0;
  uint64_t by_steps_ = 0, by_repeat_ = 0;  // its two predictions
};

// Packed records are two streams: what deflate shrinks further, and bit-packed lanes, which it may not.
struct PackedRecords {
  std::vector<uint8_t> tokens, lanes;  // may be larger than what they hold
  size_t token_bytes = 0, lane_bytes = 0;
  size_t decoded_bytes = 0;
};

class RecordEncoder : private History {
 public:
  RecordEncoder();
  // A record that check_record() finds valid. Padding leaves no trace.
  void append(const unsigned char* record, size_t length);
  const PackedRecords& packed() const { return packed_; }
  PackedRecords take() { return std::move(packed_); }  // to be followed by clear()
  bool full() const { return contexts_.size() >= kMostContexts; }
  void clear();

 private:
  int32_t find_context(const RecordHeader& header, bool* fresh);
  void grow_index();

  PackedRecords packed_;
  std::vector<int32_t> index_;  // open addressing: hash of the fixed fields -> context
};

class RecordDecoder : private History {
 public:
  // Bytes that must be readable after either stream; what is read there is never used.
  static constexpr size_t kPadding = 512;
  // Null, or what is wrong. The records are the first `decoded` bytes of *out then; it may be larger.
  const char* decode(const uint8_t* tokens, size_t token_bytes, const uint8_t* lanes, size_t lane_bytes,
                     size_t decoded, std::vector<unsigned char>* out);

 private:
  // Advances both streams over one record; false when it makes no sense.
  bool decode_record(const uint8_t** tokens, const uint8_t** lanes, Record* record);
  const uint8_t* decode_context(const uint8_t* in, int32_t* context);
};

}  // namespace cuvein::trace
