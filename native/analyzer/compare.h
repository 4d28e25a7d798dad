// An access compared with what it meets: the members of Reuse that its loops inline.
#pragma once

#include <cstdint>

#include "analyzer/reuse.h"

namespace cuvein {

constexpr uint32_t kColdKey = edge_key(0, Label::kCold);

// The bits of `who` in which threads differ.
template <bool kShared>
constexpr uint64_t kDiffers = kShared ? kThread : ~uint64_t{0};

inline Label Reuse::label(uint64_t difference, uint64_t prior_who) const {
  if (difference == 0) return Label::kThread;
  if (difference < 1u << 5) return Label::kWarpDiffInst;
  if (difference < 1u << 10) return Label::kBlock;
  if (geometry_->clusters && geometry_->cluster_of(prior_who >> 10) == geometry_->cluster_of(who_ >> 10))
    return Label::kCluster;
  return Label::kGrid;
}

__attribute__((always_inline)) inline bool Reuse::unordered(const Origin& prior, uint64_t who,
                                                            Label scope) const {
  if (__builtin_expect((prior.what & kAsync) != 0, 0)) return unordered_copy(prior, who, scope);
  if (scope == Label::kBlock) {
    const uint32_t clock = clock_of(prior.what);
    return clock >= clock_ && clock != kMaxClock;
  }
  return scope == Label::kWarpDiffInst && unordered_in_warp(events_of(prior.what), prior.who, who);
}

template <bool kShared>
__attribute__((always_inline)) inline Reuse::Compared Reuse::compare(const Origin& prior,
                                                                     uint64_t who) const {
  if (prior.what == 0) return {kColdKey, false, false, what_};
  const uint64_t difference = (prior.who ^ who) & kDiffers<kShared>;
  if (difference - 32 < 992 && (prior.what & kAsync) == 0) {  // another warp of the block, the common case
    const uint32_t clock = clock_of(prior.what);
    const bool newer = clock < newer_below_;
    const uint64_t history = (prior.what & kHistory) | kSeveral | (newer ? kOlder : 0);
    const bool ordered = (history & orders_) == orders_;
    return {edge_key(node_plus_one(prior.what), Label::kBlock), !newer && clock != kMaxClock, ordered,
            what_ | (ordered ? history_after_credit(prior.what) : history)};
  }
  const Label scope = label(difference, prior.who);
  // The clocks of two blocks have nothing to do with each other.
  const bool same_block = difference < 1u << 10;
  const bool newer = !same_block || clock_of(prior.what) < newer_below_;
  const uint64_t history = (prior.what & kHistory) | (difference != 0 ? kSeveral : 0) | (newer ? kOlder : 0);
  const bool ordered = same_block && (history & orders_) == orders_;
  return {edge_key(node_plus_one(prior.what), scope), unordered(prior, who, scope), ordered,
          what_ | (ordered ? history_after_credit(prior.what) : history)};
}

// Which earlier access to these bytes of shared memory this one covers, for later ones that may race with it
// though they meet only this one. A write covers none: all before it have met one another, or it.
template <bool kShared>
__attribute__((always_inline)) inline uint64_t Reuse::covered(const Origin& prior, const Compared& edge,
                                                              uint32_t bytes) {
  if (!kShared) return 0;
  if (__builtin_expect((prior.what & kAsync) != 0, 0)) return covered_copy(prior);
  // What a barrier has ordered with this warp need not be remembered any longer.
  const uint64_t met = type_ == AccessType::kWrite ? 0 : pack_covered(prior);
  return prior.who < covered_from_ ? met : covered_still(prior, edge.unordered ? edge.key : 0, bytes, met);
}

// Bytes of a lane with this outcome.
__attribute__((always_inline)) inline void Reuse::count(const Compared& compared, uint32_t bytes) {
  edges_.add(compared.key, bytes, compared.unordered ? bytes : 0);
  if (compared.ordered) ordered_ += bytes;
}

// Bytes of so many lanes that have no other outcome.
__attribute__((always_inline)) inline void Reuse::count_lanes(const Compared& compared, uint32_t bytes,
                                                              uint32_t lanes) {
  edges_.add_lanes(compared.key, bytes, compared.unordered ? bytes : 0, lanes);
  if (compared.ordered) ordered_ += bytes;
}

// Whether the same `what` of earlier accesses, not of an asynchronous copy, leads to the same outcome for two
// lanes that differ from its lane by so much.
inline bool Reuse::alike(uint64_t difference, uint64_t other) const {
  if (difference - 32 < 992) return other - 32 < 992;
  if (difference >= 1024) return geometry_->clusters ? difference >> 10 == other >> 10 : other >= 1024;
  return other < 32 && (difference == 0) == (other == 0) && partial_syncs_ == nullptr;
}

}  // namespace cuvein
