// Edge weights of one launch as one worker counts them.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/hash.h"
#include "model/vocabulary.h"

namespace cuvein {

// Origin node (plus one, 0 for cold) and label of an edge.
constexpr uint32_t edge_key(uint32_t origin_plus_one, Label label) {
  return origin_plus_one << 3 | static_cast<uint32_t>(label);
}

// In place of an edge: bytes with a hazard against an access that the most recent one covers (origin.h).
constexpr uint32_t kHiddenHazard = 7;
static_assert(static_cast<uint32_t>(Label::kGrid) < kHiddenHazard, "no label stands for it");
constexpr uint32_t hidden_key(uint32_t origin_plus_one) { return origin_plus_one << 3 | kHiddenHazard; }

struct EdgeWeight {
  uint64_t key;  // (node + 1) << 32 | edge_key; 0: free slot
  uint64_t bytes, count, unordered;
};

class EdgeTable {
 public:
  EdgeTable() : slots_(64) {}

  void add(uint32_t node, uint32_t key, uint64_t bytes, uint64_t count, uint64_t unordered) {
    EdgeWeight& weight = slot(static_cast<uint64_t>(node + 1) << 32 | key);
    weight.bytes += bytes;
    weight.count += count;
    weight.unordered += unordered;
  }

  // Bytes that a block barrier ordered; numbers are dense.
  void add_ordered(uint32_t barrier, uint64_t bytes) {
    if (barrier >= ordered_.size()) ordered_.resize(barrier + 1);
    ordered_[barrier] += bytes;
  }
  const std::vector<uint64_t>& ordered() const { return ordered_; }

  template <typename Visit>
  void each(Visit visit) const {
    for (const EdgeWeight& weight : slots_)
      if (weight.key != 0)
        visit(static_cast<uint32_t>(weight.key >> 32) - 1, static_cast<uint32_t>(weight.key), weight);
  }

 private:
  EdgeWeight& slot(uint64_t key) {
    size_t at = mix(key) & (slots_.size() - 1);
    while (slots_[at].key != key) {
      if (slots_[at].key == 0) return insert(at, key);
      at = (at + 1) & (slots_.size() - 1);
    }
    return slots_[at];
  }

  EdgeWeight& insert(size_t at, uint64_t key) {
    if (++used_ * 2 <= slots_.size()) {
      slots_[at].key = key;
      return slots_[at];
    }
    std::vector<EdgeWeight> old(slots_.size() * 2);
    old.swap(slots_);
    used_ = 1;
    for (const EdgeWeight& weight : old)
      if (weight.key != 0) slot(weight.key) = weight;
    return slot(key);
  }

  std::vector<EdgeWeight> slots_;  // open addressing, at most half full
  size_t used_ = 0;
  std::vector<uint64_t> ordered_;  // by the barrier's number
};

// The edges of one access. A lane counts once for each edge that has a byte of it.
class AccessEdges {
 public:
  void start_lane(unsigned lane) {
    lane_ = lane;
    if (used_ > kFlushAt) flush();
  }
  void start(EdgeTable* table, uint32_t node) {
    table_ = table;
    node_ = node;
  }
  void add(uint32_t key, uint32_t bytes, uint32_t unordered) {
    Pending* pending = find(key);
    pending->bytes += bytes;
    pending->unordered += unordered;
    if (pending->lane != lane_) {
      pending->lane = lane_;
      ++pending->count;
    }
  }
  // Bytes of `count` lanes that have no other edge.
  void add_lanes(uint32_t key, uint32_t bytes, uint32_t unordered, uint32_t count) {
    if (used_ > kFlushAt) flush();
    Pending* pending = find(key);
    pending->bytes += bytes;
    pending->unordered += unordered;
    pending->count += count;
  }
  // Like flush, but leaves the counts out and reports each edge instead.
  template <typename Report>
  void flush_uncounted(Report report) {
    for (unsigned i = 0; i < used_; ++i) {
      table_->add(node_, pending_[i].key, pending_[i].bytes, 0, pending_[i].unordered);
      report(pending_[i].key);
    }
    used_ = 0;
    last_ = 0;
  }
  void flush() {
    for (unsigned i = 0; i < used_; ++i)
      table_->add(node_, pending_[i].key, pending_[i].bytes, pending_[i].count, pending_[i].unordered);
    used_ = 0;
    last_ = 0;
  }

 private:
  // A lane has at most 16 bytes, hence adds at most 17 edges (one may be warp_same_inst).
  static constexpr unsigned kFlushAt = 14;
  struct Pending {
    uint32_t key, bytes, unordered, count, lane;
  };

  Pending* find(uint32_t key) {
    if (used_ != 0 && pending_[last_].key == key) return &pending_[last_];
    for (last_ = 0; last_ < used_; ++last_)
      if (pending_[last_].key == key) return &pending_[last_];
    ++used_;
    pending_[last_] = {key, 0, 0, 0, ~0u};
    return &pending_[last_];
  }

  Pending pending_[kFlushAt + 18];
  unsigned used_ = 0, last_ = 0;
  unsigned lane_ = 0;
  uint32_t node_ = 0;
  EdgeTable* table_ = nullptr;
};

}  // namespace cuvein
