// Numbers of families of launches: one for each, the same again, no two alike, never 0 while there are some;
// and sites of few of them lie where others' do.
#include <cstdio>
#include <set>
#include <vector>

#include "monitor/gpu_families.h"

using namespace cuvein;  // NOLINT: a test program

namespace {

int fail(const char* what) {
  std::puts(what);
  return 1;
}

Family family_of(uint64_t version) { return {nullptr, 3, {1, 1, 1}, 0, version, false}; }

}  // namespace

int main() {
  Families families;
  std::set<uint32_t> numbers;
  bool crowded = false;
  for (uint64_t i = 0; i < gpu::kFamilies - 1; ++i) {
    if (families.crowded(1)) crowded = true;
    const uint32_t number = families.number(family_of(i), 1000, 50);
    if (number == 0 || number >= gpu::kFamilies) return fail("a family has no number");
    if (!numbers.insert(number).second) return fail("two families have one number");
    if (families.number(family_of(i), 1000, 50) != number) return fail("a family has two numbers");
  }
  if (crowded || !families.crowded(1)) return fail("when families are crowded is not known");
  if (families.number(family_of(~uint64_t{0}), 1000, 50) != 0)
    return fail("there are more numbers than sites tell apart");
  families.clear();

  // Three kernels of 300 instructions and one of 600, wherever they lie, fit the table side by side; so do
  // they after many others that ran before.
  const uint32_t sizes[] = {300, 600, 300, 300};
  for (uint64_t round = 0; round < 20; ++round) {
    std::vector<uint32_t> users(gpu::kSites);
    for (uint64_t i = 0; i < 4; ++i) {
      const uint32_t first = static_cast<uint32_t>(333 * i), size = sizes[i] * gpu::kSites / 4096;
      const uint32_t number = families.number(family_of(round * 4 + i), first, size);
      for (uint32_t at = first; at < first + size; ++at) {
        ++users[gpu::moved_site(at, number)];
        ++users[gpu::moved_site(at + gpu::kSites / 2, number)];
      }
    }
    for (uint32_t i = 0; i < 16; ++i) families.number(family_of(round * 4 + 3 - i % 4), 0, 1);
    for (const uint32_t count : users)
      if (count > 1) return fail("sites lie at one place although there is room");
  }
  std::puts("families are told apart");
  return 0;
}
