// Little-endian numbers in a byte stream. Readers rely on the padding after the stream (see RecordDecoder).
#pragma once

#include <cstdint>
#include <cstring>

namespace cuvein::trace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the format is little-endian and so is every CUDA host");

template <typename T>
inline T load(const uint8_t* in) {
  T value;
  std::memcpy(&value, in, sizeof(T));
  return value;
}

template <typename T>
inline uint8_t* store(uint8_t* out, T value) {
  std::memcpy(out, &value, sizeof(T));
  return out + sizeof(T);
}

inline uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1)); }

inline uint8_t* put_varint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Takes ten bytes at most; what does not fit 64 bits is dropped.
inline uint64_t get_varint(const uint8_t*& in) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    uint8_t byte = *in++;
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

class BitWriter {
 public:
  explicit BitWriter(uint8_t* out) : out_(out) {}
  void put(uint64_t value, unsigned width) {  // width 0 to 64, value below 2^width
    if (width == 0) return;
    pending_ |= value << filled_;
    filled_ += width;
    if (filled_ < 64) return;
    out_ = store(out_, pending_);
    filled_ -= 64;
    pending_ = filled_ ? value >> (width - filled_) : 0;
  }
  uint8_t* finish() {
    for (; filled_ > 0; filled_ = filled_ > 8 ? filled_ - 8 : 0, pending_ >>= 8)
      *out_++ = static_cast<uint8_t>(pending_);
    return out_;
  }

 private:
  uint8_t* out_;
  uint64_t pending_ = 0;
  unsigned filled_ = 0;
};

class BitReader {
 public:
  explicit BitReader(const uint8_t* in) : in_(in) {}
  uint64_t get(unsigned width) {  // width 0 to 64
    if (width == 0) return 0;
    const uint8_t* byte = in_ + (position_ >> 3);
    unsigned skip = position_ & 7;
    position_ += width;
    uint64_t value = load<uint64_t>(byte) >> skip;
    if (skip + width > 64) value |= static_cast<uint64_t>(byte[8]) << (64 - skip);
    return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
  }
  const uint8_t* finish() const { return in_ + (position_ + 7) / 8; }

 private:
  const uint8_t* in_;
  size_t position_ = 0;
};

}  // namespace cuvein::trace
