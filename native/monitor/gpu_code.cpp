#include "monitor/gpu_code.h"

#include <elf.h>

#include <cstring>

namespace cuvein {
namespace {

// Operations are told apart by the lowest nine bits; above them stands the form of the operands.
enum Operation : unsigned {
  kLdsm = 0x03b,
  kStsm = 0x044,
  kNop = 0x118,
  kBar = 0x11d,
  kWarpsync = 0x148,
  kLd = 0x180,
  kLdg = 0x181,
  kLdl = 0x183,
  kLds = 0x184,
  kSt = 0x185,
  kStg = 0x186,
  kStl = 0x187,
  kSts = 0x188,
  kAtom = 0x18a,
  kAtomCas = 0x18b,
  kAtoms = 0x18c,
  kAtomsCas = 0x18d,
  kRed = 0x18e,
  kAtomHalf = 0x1a2,
  kRedFloat = 0x1a6,
  kAtomg = 0x1a8,
  kAtomgCas = 0x1a9,
  kLdgsts = 0x1ae,
};

constexpr unsigned kOperationMask = 0x1ff;
constexpr unsigned kSizeShift = 73 - 64;
constexpr unsigned kZeroFill = 82 - 64;
constexpr uint8_t kWord = 1 << 2;  // divides every atomic

// Loads and stores: 8, 8 (signed), 16, 16 (signed), 32, 64, 128 bits.
uint8_t size_of(uint64_t high) {
  static constexpr uint8_t sizes[] = {1 << 0, 1 << 0, 1 << 1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 2};
  return sizes[high >> kSizeShift & 7];
}

// Asynchronous copies: coded as above up to Hopper, and 0, 2, 4 for 32, 64, 128 bits since. 4 is taken for
// the smaller one.
uint8_t copy_size(uint64_t high) {
  static constexpr uint8_t sizes[] = {1 << 2, 1 << 2, 1 << 3, 1 << 2, 1 << 2, 1 << 3, 1 << 4, 1 << 2};
  return sizes[high >> kSizeShift & 7];
}

}  // namespace

void CodeFacts::operator|=(const CodeFacts& other) {
  global_sizes |= other.global_sizes;
  shared_sizes |= other.shared_sizes;
  local_sizes |= other.local_sizes;
  barriers |= other.barriers;
  warp_syncs |= other.warp_syncs;
  copies |= other.copies;
}

CodeFacts decode_instructions(const void* code, size_t bytes) {
  CodeFacts facts;
  const auto* at = static_cast<const char*>(code);
  bool idle = false;
  for (size_t i = 0; i + 16 <= bytes; i += 16) {
    uint64_t low, high;
    std::memcpy(&low, at + i, sizeof low);
    std::memcpy(&high, at + i + 8, sizeof high);
    // Where the lanes are together anyhow, __syncwarp becomes an instruction that does nothing; so does what
    // fills the end of a function.
    const bool nothing = (low & kOperationMask) == kNop;
    facts.warp_syncs |= idle && !nothing;
    idle = nothing;
    switch (low & kOperationMask) {
      case kLd:
      case kSt:
        facts.global_sizes |= size_of(high);
        facts.shared_sizes |= size_of(high);
        facts.local_sizes |= size_of(high);
        break;
      case kLdg:
      case kStg:
        facts.global_sizes |= size_of(high);
        break;
      case kLds:
      case kSts:
        facts.shared_sizes |= size_of(high);
        break;
      case kLdsm:
      case kStsm:
        facts.shared_sizes |= 1 << 4;
        break;
      case kLdgsts:
        // One that fills with zeros may bring any number of bytes.
        facts.global_sizes |= high >> kZeroFill & 1 ? 1 : copy_size(high);
        facts.shared_sizes |= copy_size(high);
        facts.copies = true;
        break;
      case kAtom:
      case kAtomCas:
      case kAtomHalf:
        facts.global_sizes |= kWord;
        facts.shared_sizes |= kWord;
        break;
      case kRed:
      case kRedFloat:
      case kAtomg:
      case kAtomgCas:
        facts.global_sizes |= kWord;
        break;
      case kAtoms:
      case kAtomsCas:
        facts.shared_sizes |= kWord;
        break;
      case kLdl:
      case kStl:
        facts.local_sizes |= size_of(high);
        break;
      case kBar:
        facts.barriers = true;
        break;
      case kWarpsync:
        facts.warp_syncs = true;
        break;
      default:
        break;
    }
  }
  return facts;
}

std::vector<CodeFacts> decode_module(const void* image, size_t size) {
  std::vector<CodeFacts> facts;
  const auto* data = static_cast<const char*>(image);
  Elf64_Ehdr header;
  if (data == nullptr || size < sizeof header) return facts;
  std::memcpy(&header, data, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return facts;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    const uint64_t at = header.e_shoff + i * sizeof section;
    if (at > size || size - at < sizeof section) break;
    std::memcpy(&section, data + at, sizeof section);
    const bool code = section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_EXECINSTR) != 0 &&
                      section.sh_offset <= size && section.sh_size <= size - section.sh_offset;
    facts.push_back(code ? decode_instructions(data + section.sh_offset, section.sh_size) : CodeFacts{});
  }
  return facts;
}

unsigned unit_shift(uint8_t sizes) { return sizes == 0 ? 2 : static_cast<unsigned>(__builtin_ctz(sizes)); }

}  // namespace cuvein
