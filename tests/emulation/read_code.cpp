// Checks what the GPU engine reads from machine code.
#include <cstdint>
#include <cstdio>

#include "monitor/gpu_code.h"

using namespace cuvein;  // NOLINT: a test program

namespace {

// Instructions as nvdisasm spells them, with their encoding on Ampere, Hopper and Blackwell.
struct Encoded {
  const char* text;
  uint64_t low, high;
  CodeFacts facts;
};

bool reads_code() {
  const auto facts = [](uint8_t global, uint8_t shared, uint8_t local, bool barriers, bool syncs) {
    CodeFacts result;
    result.global_sizes = global;
    result.shared_sizes = shared;
    result.local_sizes = local;
    result.barriers = barriers;
    result.warp_syncs = syncs;
    return result;
  };
  constexpr uint64_t kSize = 1ull << 9;  // of the field in the upper half
  const Encoded known[] = {
      {"LDG.E.U8", 0x981, 0 * kSize, facts(1, 0, 0, false, false)},
      {"LDG.E.U16", 0x981, 2 * kSize, facts(2, 0, 0, false, false)},
      {"LDG.E", 0x381, 4 * kSize, facts(4, 0, 0, false, false)},
      {"STG.E.64", 0x986, 5 * kSize, facts(8, 0, 0, false, false)},
      {"STG.E.128", 0x986, 6 * kSize, facts(16, 0, 0, false, false)},
      {"LDS.S16", 0x984, 3 * kSize, facts(0, 2, 0, false, false)},
      {"STS.64", 0x388, 5 * kSize, facts(0, 8, 0, false, false)},
      {"LD.E.S8", 0x980, 1 * kSize, facts(1, 1, 1, false, false)},
      {"ST.E.128", 0x985, 6 * kSize, facts(16, 16, 16, false, false)},
      {"ATOM.E.ADD.STRONG.GPU", 0x98a, 0, facts(4, 4, 0, false, false)},
      {"ATOMG.E.CAS.64.STRONG.GPU", 0x3a9, 2 * kSize, facts(4, 0, 0, false, false)},
      {"REDG.E.ADD.F64.RN.STRONG.GPU", 0x9a6, 7 * kSize, facts(4, 0, 0, false, false)},
      {"ATOMS.CAST.SPIN", 0x58d, 0, facts(0, 4, 0, false, false)},
      {"LDSM.16.M88.4", 0x83b, 1 * kSize, facts(0, 16, 0, false, false)},
      {"STSM.16.M88.4", 0x844, 1 * kSize, facts(0, 16, 0, false, false)},
      {"LDGSTS.E.BYPASS.128", 0xc157fae, 0x000fe8000b901c48, facts(16, 16, 0, false, false)},
      {"LDGSTS.E.BYPASS.128.ZFILL", 0x10157fae, 0x0005e80008141c4a, facts(1, 16, 0, false, false)},
      {"LDGSTS.E.64 (Blackwell)", 0xa157fae, 0x000fe2000b9a1406, facts(8, 8, 0, false, false)},
      {"LDL.S8", 0x983, 1 * kSize, facts(0, 0, 1, false, false)},
      {"STL", 0x387, 4 * kSize, facts(0, 0, 4, false, false)},
      {"BAR.SYNC.DEFER_BLOCKING", 0xb1d, 0, facts(0, 0, 0, true, false)},
      {"WARPSYNC.ALL", 0x948, 0, facts(0, 0, 0, false, true)},
      {"LDC.64", 0xb82, 5 * kSize, facts(0, 0, 0, false, false)},
      {"MATCH.ANY", 0x3a1, 0, facts(0, 0, 0, false, false)},
  };
  bool good = true;
  const auto expect = [&](const char* text, const CodeFacts& read, const CodeFacts& right) {
    if (read.global_sizes == right.global_sizes && read.shared_sizes == right.shared_sizes &&
        read.local_sizes == right.local_sizes && read.barriers == right.barriers &&
        read.warp_syncs == right.warp_syncs)
      return;
    std::printf("%s is read as global %u shared %u local %u barriers %d syncs %d\n", text, read.global_sizes,
                read.shared_sizes, read.local_sizes, read.barriers, read.warp_syncs);
    good = false;
  };
  for (const Encoded& instruction : known) {
    const uint64_t words[2] = {instruction.low, instruction.high};
    expect(instruction.text, decode_instructions(words, sizeof words), instruction.facts);
  }
  // A __syncwarp that costs nothing is a NOP; those at the end of a function only fill it.
  constexpr uint64_t kNop = 0x7918, kExit = 0x794d;
  const uint64_t inside[] = {kNop, 0, kExit, 0}, behind[] = {kExit, 0, kNop, 0};
  expect("NOP, EXIT", decode_instructions(inside, sizeof inside), facts(0, 0, 0, false, true));
  expect("EXIT, NOP", decode_instructions(behind, sizeof behind), facts(0, 0, 0, false, false));
  return good;
}

}  // namespace

int main() {
  if (!reads_code()) return 1;
  std::printf("machine code is read\n");
  return 0;
}
