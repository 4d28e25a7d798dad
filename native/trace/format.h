// What a trace file is made of: docs/trace-format.md in code. All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuvein::trace {

// The first byte is not text and the last is a line feed, so that a file mangled as text is noticed at once.
constexpr unsigned char kMagic[8] = {0x89, 'C', 'U', 'V', 'E', 'I', 'N', '\n'};
constexpr uint32_t kVersion = 1;

// These 16 bytes mean the same in every version, so that an old reader can tell a newer trace from a foreign
// file.
struct FileHeader {
  unsigned char magic[8];
  uint32_t version;
  uint32_t checksum;  // CRC-32 of the bytes before
};
static_assert(sizeof(FileHeader) == 16);

enum class ChunkKind : uint16_t {
  kProcess = 1,
  kModule = 2,
  kLaunchBegin = 3,
  kRecords = 4,
  kLaunchEnd = 5,
  kEnd = 6,
};

constexpr const char* name(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::kProcess:
      return "process";
    case ChunkKind::kModule:
      return "module";
    case ChunkKind::kLaunchBegin:
      return "launch begin";
    case ChunkKind::kRecords:
      return "records";
    case ChunkKind::kLaunchEnd:
      return "launch end";
    case ChunkKind::kEnd:
      return "end";
  }
  return nullptr;
}

enum class Compression : uint16_t { kNone = 0, kDeflate = 1 };

constexpr uint32_t kChunkMarker = 0x4b4e4843;  // "CHNK"

struct ChunkHeader {
  uint32_t marker;
  ChunkKind kind;
  Compression compression;
  uint32_t stored;            // bytes that follow this header in the file
  uint32_t content;           // bytes after inflating
  uint32_t decoded;           // kRecords: bytes of the records after decoding; otherwise equal to content
  uint32_t ordinal;           // chunks before this one: notices chunks that were cut out or swapped
  uint32_t payload_checksum;  // CRC-32 of the stored bytes
  uint32_t header_checksum;   // CRC-32 of this header up to here
};
static_assert(sizeof(ChunkHeader) == 32);

// The content of a records chunk (itself never compressed) begins with this; tokens and lanes follow. Each is
// deflated when it is stored in fewer bytes than it has.
struct RecordsHeader {
  uint32_t tokens, tokens_stored;
  uint32_t lanes, lanes_stored;
};
static_assert(sizeof(RecordsHeader) == 16);

// Limits that keep a hostile file from asking for memory it does not fill.
constexpr uint32_t kMostContent = 1u << 30;
constexpr uint32_t kMostDecoded = 64u << 20;  // of one records chunk
// Deflate cannot do better than this, so a claim beyond it is false.
constexpr uint64_t kMostInflation = 1032;

}  // namespace cuvein::trace
