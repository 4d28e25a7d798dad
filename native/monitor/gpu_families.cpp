#include "monitor/gpu_families.h"

#include <algorithm>

namespace cuvein {

uint32_t Families::number(const Family& family, uint32_t first, uint32_t instructions) {
  const auto found = numbers_.find(family);
  if (found != numbers_.end()) return found->second;
  const uint32_t from = first / kPartSites, to = (first + std::max(instructions, 1u) - 1) / kPartSites;
  const uint32_t parts = std::min(to - from + 1, kParts);
  const auto part_of = [&](uint32_t i, uint32_t moved) { return ((from + i) ^ moved) % kParts; };
  uint32_t best = kParts;
  uint64_t least = ~uint64_t{0};
  for (uint32_t moved = 0; moved < kParts; ++moved) {
    if (given_[moved] + (moved == 0 ? 1 : 0) >= kPartSites) continue;  // 0 is no family's
    uint64_t users = 0;
    for (uint32_t i = 0; i < parts; ++i) users += users_[part_of(i, moved)];
    if (users < least) best = moved, least = users;
  }
  if (best == kParts) return 0;
  for (uint32_t i = 0; i < parts; ++i) ++users_[part_of(i, best)];
  const uint32_t number = best * kPartSites + given_[best]++ + (best == 0 ? 1 : 0);
  return numbers_.emplace(family, number).first->second;
}

bool Families::crowded(uint32_t more) const { return numbers_.size() + more >= gpu::kFamilies; }

}  // namespace cuvein
