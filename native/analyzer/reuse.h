// Topological Distance: compares an access with the shadow state, byte for byte, adds the edges and leaves
// the access behind as the most recent one. Lanes are taken in lane order: the lowest lane meets the old
// state, every further one on the same byte is warp_same_inst.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/access.h"
#include "analyzer/address_share.h"
#include "analyzer/edges.h"
#include "analyzer/graph.h"
#include "analyzer/launch_shape.h"
#include "analyzer/places.h"
#include "analyzer/shadow.h"

namespace cuvein {

class Slice;

class Reuse {
 public:
  // Applies the lanes in `mask`.
  void apply(const Access& access, uint32_t mask, Shadow& shadow, EdgeTable& table);
  // Applies single lanes from this place of the list on, as long as launch and size are the same; returns the
  // place after the last one.
  size_t apply_singles(const Slice& slice, Places& places, size_t at, Shadow& shadow, EdgeTable& table);
  // Applies an access with lanes that reach into another worker's share; calls report(lane, edge) for what is
  // left to be counted.
  void apply_split(const Access& access, uint32_t mask, Shadow& shadow, EdgeTable& table,
                   const AddressShare& share, const std::function<void(unsigned, uint32_t)>& report);

 private:
  struct Compared {
    uint32_t key;
    bool unordered;
    bool ordered;   // by the last block barrier that the warp passed
    uint64_t what;  // of the access, as the most recent one
  };

  void start(const Access& access, Shadow& shadow, EdgeTable& table);
  Label label(uint64_t difference, uint64_t prior_who) const;
  template <bool kShared>
  Compared compare(const Origin& prior, uint64_t who) const;
  bool alike(uint64_t difference, uint64_t other) const;
  bool unordered_in_warp(uint32_t event, uint64_t prior_who, uint64_t who) const;
  bool unordered(const Origin& prior, uint64_t who, Label scope) const;
  bool unordered_copy(Origin prior, uint64_t who, Label scope) const;
  template <bool kShared>
  uint64_t covered(const Origin& prior, const Compared& edge, uint32_t bytes);
  uint64_t covered_still(Origin prior, uint32_t unordered, uint32_t bytes, uint64_t met);
  uint64_t covered_copy(Origin prior) const;
  uint64_t compare_same_instruction(uint64_t what, unsigned bytes);
  void count(const Compared& compared, uint32_t bytes);
  void count_lanes(const Compared& compared, uint32_t bytes, uint32_t lanes);
  template <bool kShared>
  void run(uint64_t address, unsigned size_shift, unsigned lane, unsigned lanes);
  template <bool kShared>
  bool row(Tile tile, unsigned offset, unsigned size_shift, unsigned first, unsigned lanes, Origin* left);
  template <bool kShared>
  void touch(uint64_t address, unsigned bytes, uint64_t who, uint64_t mark);
  template <bool kShared>
  void replace(uint64_t address, unsigned bytes, uint64_t who, unsigned others);
  template <bool kShared>
  void apply_lanes(const Access& access, uint32_t mask);
  void finish();
  void unmark(uint64_t address, unsigned bytes);
  template <typename Visit>
  void each_entry(uint64_t address, unsigned bytes, Visit visit);
  template <unsigned kWords>
  size_t singles(const Slice& slice, Places& places, size_t at, Shadow& shadow, EdgeTable& table);
  template <unsigned kWords>
  void scattered_near(const Access& access, uint32_t mask);
  template <bool kShared>
  void overlapping(const Access& access, uint32_t mask);

  Shadow* shadow_ = nullptr;
  EdgeTable* table_ = nullptr;
  const LaunchGeometry* geometry_ = nullptr;
  const PartialSyncs* partial_syncs_ = nullptr;
  const AsyncCopies* async_copies_ = nullptr;
  uint64_t who_ = 0;           // lane 0
  uint64_t covered_from_ = 0;  // in `who`: what is covered and not ordered
  uint64_t what_ = 0;
  uint32_t node_ = 0, clock_ = 0, newer_below_ = 0, full_sync_ = 0, barrier_ = 0;
  uint64_t orders_ = 0;  // history with which barrier_ has ordered an access
  AccessType type_ = AccessType::kRead;
  uint64_t ordered_ = 0;           // bytes that barrier_ has ordered
  uint32_t same_instruction_ = 0;  // edge key
  AccessEdges edges_;
};

}  // namespace cuvein
