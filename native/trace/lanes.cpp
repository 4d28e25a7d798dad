#include "trace/lanes.h"

#include <algorithm>
#include <cstring>

#include "trace/bytes.h"

namespace cuvein::trace {
namespace {

// Addresses are stored as offsets from the lowest active lane, in units of their common alignment, relative
// to the smallest of them, in as many bits as the largest needs. Lanes in two far-apart places get two such
// frames.
constexpr uint8_t kTwoFrames = 0x10;  // beside the alignment (0 to 15) in the first byte
constexpr unsigned kWorthTwoFrames = 20;

// Lane sizes: this byte and a nibble a lane (size - 1), or a byte with the two sizes that occur and a bit a
// lane.
constexpr uint8_t kSizesApart = 0xff;

unsigned bits(uint64_t value) { return value ? 64 - static_cast<unsigned>(__builtin_clzll(value)) : 0; }

struct Frame {
  int64_t least = 0;
  unsigned width = 0;
};

uint8_t* put_frame(uint8_t* out, const Frame& frame) {
  *out++ = static_cast<uint8_t>(frame.width);
  return put_varint(out, zigzag(frame.least));
}

bool get_frame(const uint8_t*& in, Frame* frame) {
  frame->width = *in++;
  frame->least = unzigzag(get_varint(in));
  return frame->width <= 64;
}

uint8_t* pack_offsets(const int64_t* offsets, unsigned count, uint8_t* out) {
  if (count == 0) return out;
  uint64_t all = 0;
  for (unsigned i = 0; i < count; ++i) all |= static_cast<uint64_t>(offsets[i]);
  const unsigned shift = all ? std::min(15, __builtin_ctzll(all)) : 0;
  int64_t units[kWarpLanes];
  for (unsigned i = 0; i < count; ++i) units[i] = offsets[i] >> shift;

  auto [least, most] = std::minmax_element(units, units + count);
  Frame low{*least, bits(static_cast<uint64_t>(*most) - static_cast<uint64_t>(*least))};
  Frame high;
  int64_t border = 0;
  bool two = false;
  if (low.width >= kWorthTwoFrames && count > 2) {
    // Far apart means that the gap is wider than either side, so the middle lies in it.
    const int64_t middle =
        *least + static_cast<int64_t>((static_cast<uint64_t>(*most) - static_cast<uint64_t>(*least)) / 2);
    int64_t low_most = *least, high_least = *most;
    unsigned lower = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (units[i] <= middle) {
        low_most = std::max(low_most, units[i]);
        ++lower;
      } else {
        high_least = std::min(high_least, units[i]);
      }
    }
    const Frame first{*least, bits(static_cast<uint64_t>(low_most) - static_cast<uint64_t>(*least))};
    const Frame second{high_least, bits(static_cast<uint64_t>(*most) - static_cast<uint64_t>(high_least))};
    // A second frame costs a bit a lane and itself.
    if (count + lower * first.width + (count - lower) * second.width + 64 < count * low.width) {
      two = true;
      border = high_least;
      low = first;
      high = second;
    }
  }

  *out++ = static_cast<uint8_t>(shift | (two ? kTwoFrames : 0));
  out = put_frame(out, low);
  if (two) out = put_frame(out, high);
  uint32_t in_high = 0;
  if (two)
    for (unsigned i = 0; i < count; ++i) in_high |= static_cast<uint32_t>(units[i] >= border) << i;
  BitWriter writer(out);
  if (two) writer.put(in_high, count);
  const Frame frames[2] = {low, high};
  for (unsigned i = 0; i < count; ++i) {
    const Frame& frame = frames[in_high >> i & 1];
    writer.put(static_cast<uint64_t>(units[i]) - static_cast<uint64_t>(frame.least), frame.width);
  }
  return writer.finish();
}

const uint8_t* unpack_offsets(const uint8_t* in, unsigned count, int64_t* offsets) {
  if (count == 0) return in;
  const uint8_t head = *in++;
  if (head & 0xe0) return nullptr;
  const unsigned shift = head & 0x0f;
  const bool two = head & kTwoFrames;
  Frame frames[2];
  if (!get_frame(in, &frames[0]) || (two && !get_frame(in, &frames[1]))) return nullptr;
  BitReader reader(in);
  const auto in_high = static_cast<uint32_t>(two ? reader.get(count) : 0);
  for (unsigned i = 0; i < count; ++i) {
    const Frame& frame = frames[in_high >> i & 1];
    const uint64_t unit = static_cast<uint64_t>(frame.least) + reader.get(frame.width);
    offsets[i] = static_cast<int64_t>(unit << shift);
  }
  return reader.finish();
}

uint8_t* pack_sizes(const uint8_t* sizes, uint32_t active, uint8_t* out) {
  uint8_t one = sizes[__builtin_ctz(active)], other = one;
  bool two = true;
  for (uint32_t left = active; left; left &= left - 1) {
    uint8_t size = sizes[__builtin_ctz(left)];
    if (size == one || size == other) continue;
    two = two && other == one;
    other = size;
  }
  // When all lanes agree any other size serves as the second, which keeps 0xff free.
  if (one == other) other = one == 1 ? 2 : 1;
  *out++ = two ? static_cast<uint8_t>((one - 1) | (other - 1) << 4) : kSizesApart;
  BitWriter writer(out);
  for (uint32_t left = active; left; left &= left - 1) {
    uint8_t size = sizes[__builtin_ctz(left)];
    if (two)
      writer.put(size != one, 1);
    else
      writer.put(size - 1u, 4);
  }
  return writer.finish();
}

const uint8_t* unpack_sizes(const uint8_t* in, uint32_t active, uint8_t* sizes) {
  const uint8_t head = *in++;
  const auto one = static_cast<uint8_t>((head & 15) + 1), other = static_cast<uint8_t>((head >> 4) + 1);
  BitReader reader(in);
  for (uint32_t left = active; left; left &= left - 1) {
    uint8_t& size = sizes[__builtin_ctz(left)];
    if (head == kSizesApart)
      size = static_cast<uint8_t>(reader.get(4) + 1);
    else
      size = reader.get(1) ? other : one;
  }
  return reader.finish();
}

}  // namespace

bool lanes_packable(Record& record) {
  const RecordHeader& header = record.header;
  if (header.length * kRecordUnit == sizeof(RecordHeader)) return true;
  if (header.active == 0) return false;
  if (header.form == AddressForm::kLanes32 && record.lanes_32()[__builtin_ctz(header.active)] != 0)
    return false;
  if (header.flags & kRecordFlagLaneSizes)
    for (uint32_t left = header.active; left; left &= left - 1) {
      uint8_t size = record.lane_sizes()[__builtin_ctz(left)];
      if (size < 1 || size > 16) return false;
    }
  return true;
}

uint8_t* pack_lanes(Record& record, uint8_t* out) {
  const RecordHeader& header = record.header;
  if (header.form != AddressForm::kAffine) {
    int64_t offsets[kWarpLanes];
    unsigned count = 0;
    // The lowest lane is the header's address.
    for (uint32_t left = header.active & (header.active - 1); left; left &= left - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
      offsets[count++] = header.form == AddressForm::kLanes32
                             ? record.lanes_32()[lane]
                             : static_cast<int64_t>(record.lanes_64()[lane] - header.address);
    }
    out = pack_offsets(offsets, count, out);
  }
  if (header.flags & kRecordFlagLaneSizes) out = pack_sizes(record.lane_sizes(), header.active, out);
  return out;
}

const uint8_t* unpack_lanes(Record& record, const uint8_t* in) {
  const RecordHeader& header = record.header;
  const size_t length = record_bytes(header.form, header.flags);
  std::memset(record.tail, 0, length - sizeof(RecordHeader));
  if (header.active == 0) return nullptr;
  if (header.form != AddressForm::kAffine) {
    int64_t offsets[kWarpLanes];
    in = unpack_offsets(in, static_cast<unsigned>(__builtin_popcount(header.active)) - 1, offsets);
    if (!in) return nullptr;
    const unsigned lowest = static_cast<unsigned>(__builtin_ctz(header.active));
    if (header.form == AddressForm::kLanes64) record.lanes_64()[lowest] = header.address;
    unsigned count = 0;
    for (uint32_t left = header.active & (header.active - 1); left; left &= left - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(left));
      int64_t offset = offsets[count++];
      if (header.form == AddressForm::kLanes32)
        record.lanes_32()[lane] = static_cast<int32_t>(offset);
      else
        record.lanes_64()[lane] = header.address + static_cast<uint64_t>(offset);
    }
  }
  if (header.flags & kRecordFlagLaneSizes) in = unpack_sizes(in, header.active, record.lane_sizes());
  return in;
}

}  // namespace cuvein::trace
