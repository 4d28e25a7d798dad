// One chunk of a trace file: as it is stored, and decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "trace/codec.h"
#include "trace/format.h"

namespace cuvein::trace {

inline bool plausible(uint64_t content, uint64_t stored, bool plain) {
  return plain ? content == stored : content > stored && content <= stored * kMostInflation;
}

struct Frame {
  ChunkHeader header;
  uint64_t position;  // of the header in the file
  uint64_t left;      // bytes of the file from there on
  std::vector<unsigned char> stored;

  const unsigned char* data;  // decoded, `header.decoded` bytes
  std::string problem;        // why there are none: goes on after "is damaged at byte N"
  bool done = false;
  std::exception_ptr failed;  // what kept a thread from decoding it

  // Makes room for the stored bytes; buffers only grow, for a frame is used again.
  unsigned char* make_room();
  // Fills in data or problem. Needs nothing but the frame, so that many can be decoded at once. *decoder is
  // made when it is needed: its tables are large, and many want documents only.
  void decode(std::unique_ptr<RecordDecoder>* decoder);

 private:
  std::string try_decode(std::unique_ptr<RecordDecoder>* decoder);
  const char* decode_records(std::unique_ptr<RecordDecoder>* decoder);

  std::vector<unsigned char> content_, lanes_, decoded_;
};

}  // namespace cuvein::trace
