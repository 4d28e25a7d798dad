// Reads a trace file chunk by chunk. Trusts nothing: a damaged or hostile file is reported, with the place,
// after every whole chunk before it was delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "trace/format.h"

namespace cuvein {

class TraceReader {
 public:
  enum class Status { kOk, kDamaged, kForeign, kNewer, kSystem };

  struct Chunk {
    trace::ChunkKind kind;
    const unsigned char* data;  // decoded, valid until the next call
    size_t bytes;
    uint64_t offset;  // in the file
    uint64_t stored;  // bytes in the file, header included
  };

  // Reads ahead by so many chunks, of at most 64 MiB each, and decodes them with as many threads; 0: neither.
  explicit TraceReader(unsigned threads = 0);
  ~TraceReader();

  // When it is not kOk, error() says in one sentence what is wrong.
  Status open(const std::string& path);
  Status next(Chunk* chunk);  // the end mark is the last chunk; it is delivered again when asked further
  uint64_t size() const;      // of the file
  const std::string& error() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cuvein
