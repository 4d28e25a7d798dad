#include "monitor/gpu_families.h"

#include <algorithm>

namespace cuvein {

using gpu::kFamilies;
using gpu::kSites;

uint32_t Families::number(const Family& family, uint32_t first, uint32_t instructions) {
  const auto found = places_.find(family);
  if (found != places_.end()) {
    use(&found->second);
    return found->second.number;
  }
  std::vector<uint64_t> wanted(users_.begin(), users_.end());
  for (size_t i = 0; i < kRecent && recent_[i] != nullptr; ++i)
    add(*recent_[i], uint64_t{kFamilies} << (kRecent - i), &wanted);  // more than all less recent ones
  // How much the sites of all code that begins before a site are wanted.
  const uint32_t count = std::min(std::max(instructions, 1u), kSites);
  std::vector<uint64_t> before(2 * kSites + 1);
  for (uint32_t site = 0; site < 2 * kSites; ++site)
    before[site + 1] = before[site] + wanted[site % kSites] + wanted[(site + kSites / 2) % kSites];
  uint32_t best = 0;
  uint64_t least = ~uint64_t{0};
  for (uint32_t number = 1; number < kFamilies; ++number) {
    if (given_[number]) continue;
    const uint32_t site = gpu::moved_site(first, number);
    const uint64_t here = before[site + count] - before[site];
    if (here < least) best = number, least = here;
  }
  if (best == 0) return 0;
  given_[best] = true;
  const Place place{best, gpu::moved_site(first, best), count};
  add(place, 1u, &users_);
  use(&places_.emplace(family, place).first->second);
  return best;
}

template <typename Number>
void Families::add(const Place& place, Number more, std::vector<Number>* wanted) {
  for (uint32_t i = 0; i < place.count; ++i) {
    (*wanted)[(place.first + i) % kSites] += more;
    (*wanted)[(place.first + i + kSites / 2) % kSites] += more;
  }
}

void Families::use(const Place* place) {
  const auto end = recent_ + kRecent, last = end - 1;
  const auto known = std::find(recent_, last, place);
  std::rotate(recent_, known, known + 1);
  recent_[0] = place;
}

bool Families::crowded(uint32_t more) const { return places_.size() + more >= kFamilies; }

}  // namespace cuvein
