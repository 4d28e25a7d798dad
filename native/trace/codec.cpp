#include "trace/codec.h"

#include <algorithm>
#include <cstring>

#include "trace/bytes.h"
#include "trace/lanes.h"

namespace cuvein::trace {
namespace {

// The control byte that begins every record.
enum ContextCode : unsigned { kExpected = 0, kIndex8 = 1, kIndex16 = 2, kEscape = 3 };     // bits 0, 1
enum PlaceCode : unsigned { kSame = 0, kNear = 1, kFar = 2, kAnywhere = 3 };               // bits 2, 3
enum AddressCode : unsigned { kPredicted = 0, kDelta16 = 1, kDelta32 = 2, kDelta48 = 3 };  // bits 4, 5
constexpr unsigned kPlaceBit = 2, kAddressBit = 4;
constexpr uint8_t kMaskStored = 0x40, kValueStored = 0x80;

// What follows kEscape.
constexpr uint8_t kNewContext = 0, kAsItIs = 1;

// The 48-bit difference that means: the address itself follows.
constexpr int64_t kFullAddress = -(int64_t{1} << 47);

constexpr uint8_t kMostConfidence = 2;
constexpr size_t kLongestPackedRecord = 64 + kLongestPackedLanes + kLongestRecord;

uint64_t quotient(uint64_t difference, uint64_t distance) {
  auto by = static_cast<int64_t>(distance);
  if (by == 1) return difference;
  if (by == -1) return 0 - difference;
  return static_cast<uint64_t>(static_cast<int64_t>(difference) / by);
}

uint64_t first_word(const RecordHeader& h) {
  return static_cast<uint64_t>(h.kind) | static_cast<uint64_t>(h.form) << 8 |
         static_cast<uint64_t>(h.flags) << 16 | static_cast<uint64_t>(h.space) << 24 |
         static_cast<uint64_t>(h.type) << 32 | static_cast<uint64_t>(h.size) << 40;
}

uint64_t second_word(const RecordHeader& h) {
  return static_cast<uint64_t>(static_cast<uint32_t>(h.pc)) | static_cast<uint64_t>(h.launch) << 32;
}

bool same_fixed(const RecordHeader& a, const RecordHeader& b) {
  return first_word(a) == first_word(b) && second_word(a) == second_word(b);
}

size_t hash(const RecordHeader& header) {
  uint64_t mixed = (first_word(header) ^ second_word(header) * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  return static_cast<size_t>(mixed >> 32);
}

Context make_context(const RecordHeader& header) {
  Context context;
  std::memset(&context.fixed, 0, sizeof(context.fixed));
  context.fixed.length = static_cast<uint8_t>(record_bytes(header.form, header.flags) / kRecordUnit);
  context.fixed.kind = header.kind;
  context.fixed.form = header.form;
  context.fixed.flags = header.flags;
  context.fixed.space = header.space;
  context.fixed.type = header.type;
  context.fixed.size = header.size;
  context.fixed.pc = header.pc;
  context.fixed.launch = header.launch;
  context.shift = header.size > 1 ? static_cast<uint8_t>(__builtin_ctz(header.size)) : 0;
  return context;
}

}  // namespace

void Context::learn(const RecordHeader& header, bool hit) {
  if (hit) {
    if (confidence < kMostConfidence) ++confidence;
  } else if (confidence > 0) {
    --confidence;
  } else {
    const uint64_t difference = header.address - address;
    if (header.block == block) {
      if (header.warp == warp)
        repeat_step = difference;
      else
        warp_step = quotient(difference, static_cast<uint64_t>(header.warp) - warp);
    } else if (header.warp == warp) {
      block_step = quotient(difference, header.block - block);
    }
  }
  address = header.address;
  block = header.block;
  warp = header.warp;
  mask = header.active;
  value = header.value;
}

void History::clear() {
  contexts_.clear();
  std::fill(last_of_warp_.begin(), last_of_warp_.end(), -1);
  block_ = 0;
  warp_ = 0;
  slot_ = slot(0, 0);
}

RecordEncoder::RecordEncoder() : index_(1024, -1) {}

void RecordEncoder::clear() {
  History::clear();
  std::fill(index_.begin(), index_.end(), -1);
  used_ = 0;
  decoded_ = 0;
}

int32_t RecordEncoder::find_context(const RecordHeader& header, bool* fresh) {
  *fresh = false;
  const size_t most = index_.size() - 1;
  size_t place = hash(header) & most;
  for (; index_[place] >= 0; place = (place + 1) & most)
    if (same_fixed(contexts_[static_cast<size_t>(index_[place])].fixed, header)) return index_[place];
  *fresh = true;
  const auto context = static_cast<int32_t>(contexts_.size());
  contexts_.push_back(make_context(header));
  index_[place] = context;
  if (contexts_.size() * 2 > index_.size()) grow_index();
  return context;
}

void RecordEncoder::grow_index() {
  index_.assign(index_.size() * 2, -1);
  const size_t most = index_.size() - 1;
  for (size_t context = 0; context < contexts_.size(); ++context) {
    size_t place = hash(contexts_[context].fixed) & most;
    while (index_[place] >= 0) place = (place + 1) & most;
    index_[place] = static_cast<int32_t>(context);
  }
}

void RecordEncoder::append(const unsigned char* bytes, size_t length) {
  if (static_cast<RecordKind>(bytes[1]) == RecordKind::kPadding) return;
  if (buffer_.size() - used_ < kLongestPackedRecord)
    buffer_.resize(buffer_.size() * 2 + kLongestPackedRecord);
  Record record;
  normalise(bytes, length, &record);
  const RecordHeader& header = record.header;
  uint8_t* control = buffer_.data() + used_;
  uint8_t* out = control + 1;
  decoded_ += length;
  if (!lanes_packable(record)) {
    *control = kEscape;
    *out++ = kAsItIs;
    std::memcpy(out, &record, length);
    used_ = static_cast<size_t>(out + length - buffer_.data());
    return;
  }

  unsigned bits = 0;
  if (header.block != block_ || header.warp != warp_) {
    const uint64_t distance = zigzag(static_cast<int64_t>(header.block - block_));
    if (header.warp < 32 && distance < 1u << 11) {
      bits |= kNear << kPlaceBit;
      out = store(out, static_cast<uint16_t>(distance << 5 | header.warp));
    } else if (header.warp < 32 && distance < 1u << 27) {
      bits |= kFar << kPlaceBit;
      out = store(out, static_cast<uint32_t>(distance << 5 | header.warp));
    } else {
      bits |= kAnywhere << kPlaceBit;
      *out++ = header.warp;
      out = store(out, header.block);
    }
    block_ = header.block;
    warp_ = header.warp;
    slot_ = slot(block_, warp_);
  }

  int32_t index = expected_context();
  if (index < 0 || !same_fixed(contexts_[static_cast<size_t>(index)].fixed, header)) {
    bool fresh;
    index = find_context(header, &fresh);
    if (fresh) {
      bits |= kEscape;
      *out++ = kNewContext;
      *out++ = static_cast<uint8_t>(header.kind);
      *out++ = static_cast<uint8_t>(header.form);
      *out++ = header.flags;
      *out++ = static_cast<uint8_t>(header.space);
      *out++ = static_cast<uint8_t>(header.type);
      *out++ = header.size;
      out = put_varint(out, zigzag(header.pc));
      out = put_varint(out, header.launch);
    } else if (index < 256) {
      bits |= kIndex8;
      *out++ = static_cast<uint8_t>(index);
    } else {
      bits |= kIndex16;
      out = store(out, static_cast<uint16_t>(index));
    }
  }
  follow(index);

  Context& context = contexts_[static_cast<size_t>(index)];
  if (header.active != context.mask) {
    bits |= kMaskStored;
    out = store(out, header.active);
  }
  if (header.value != context.value) {
    bits |= kValueStored;
    out = put_varint(out, zigzag(header.value));
  }
  const auto difference = static_cast<int64_t>(header.address - context.predict(header.block, header.warp));
  if (difference != 0) {
    const int64_t units = difference >> context.shift;
    const bool exact = static_cast<int64_t>(static_cast<uint64_t>(units) << context.shift) == difference;
    if (exact && units == static_cast<int16_t>(units)) {
      bits |= kDelta16 << kAddressBit;
      out = store(out, static_cast<int16_t>(units));
    } else if (exact && units == static_cast<int32_t>(units)) {
      bits |= kDelta32 << kAddressBit;
      out = store(out, static_cast<int32_t>(units));
    } else {
      bits |= kDelta48 << kAddressBit;
      const bool fits = exact && units > kFullAddress && units < -kFullAddress;
      std::memcpy(out, fits ? &units : &kFullAddress, 6);
      out += 6;
      if (!fits) out = store(out, header.address);
    }
  }
  context.learn(header, difference == 0);
  *control = static_cast<uint8_t>(bits);
  if (length > sizeof(RecordHeader)) out = pack_lanes(record, out);
  used_ = static_cast<size_t>(out - buffer_.data());
}

const uint8_t* RecordDecoder::decode_context(const uint8_t* in, int32_t* context) {
  if (contexts_.size() >= kMostContexts) return nullptr;
  RecordHeader header{};
  header.kind = static_cast<RecordKind>(*in++);
  header.form = static_cast<AddressForm>(*in++);
  header.flags = *in++;
  header.space = static_cast<Space>(*in++);
  header.type = static_cast<AccessType>(*in++);
  header.size = *in++;
  header.pc = static_cast<int32_t>(unzigzag(get_varint(in)));
  header.launch = static_cast<uint32_t>(get_varint(in));
  if (static_cast<unsigned>(header.form) >= kAddressFormCount) return nullptr;
  header.length = static_cast<uint8_t>(record_bytes(header.form, header.flags) / kRecordUnit);
  size_t length;
  if (header.kind == RecordKind::kPadding || check_record(reinterpret_cast<const unsigned char*>(&header),
                                                          size_t{header.length} * kRecordUnit, &length))
    return nullptr;
  *context = static_cast<int32_t>(contexts_.size());
  contexts_.push_back(make_context(header));
  return in;
}

const uint8_t* RecordDecoder::decode_record(const uint8_t* in, Record* record) {
  const unsigned bits = *in++;
  const unsigned place = bits >> kPlaceBit & 3;
  if ((bits & 3) == kEscape && place == kSame && bits == kEscape && *in == kAsItIs) {
    ++in;
    size_t length;
    if (check_record(in, kLongestRecord, &length) || static_cast<RecordKind>(in[1]) == RecordKind::kPadding)
      return nullptr;
    normalise(in, length, record);
    return in + length;
  }

  if (place != kSame) {
    if (place == kNear || place == kFar) {
      const uint32_t packed = place == kNear ? load<uint16_t>(in) : load<uint32_t>(in);
      in += place == kNear ? 2 : 4;
      warp_ = packed & 31;
      block_ += static_cast<uint64_t>(unzigzag(packed >> 5));
    } else {
      warp_ = *in++;
      block_ = load<uint64_t>(in);
      in += 8;
    }
    slot_ = slot(block_, warp_);
  }

  int32_t index;
  switch (bits & 3) {
    case kExpected:
      index = expected_context();
      break;
    case kIndex8:
      index = *in++;
      break;
    case kIndex16:
      index = load<uint16_t>(in);
      in += 2;
      break;
    default:
      if (*in++ != kNewContext) return nullptr;
      in = decode_context(in, &index);
      if (!in) return nullptr;
  }
  if (index < 0 || static_cast<size_t>(index) >= contexts_.size()) return nullptr;
  follow(index);

  Context& context = contexts_[static_cast<size_t>(index)];
  RecordHeader& header = record->header;
  header = context.fixed;
  header.block = block_;
  header.warp = warp_;
  header.active = context.mask;
  if (bits & kMaskStored) {
    header.active = load<uint32_t>(in);
    in += 4;
  }
  header.value = context.value;
  if (bits & kValueStored) header.value = unzigzag(get_varint(in));
  header.address = context.predict(block_, warp_);
  const unsigned code = bits >> kAddressBit & 3;
  if (code != kPredicted) {
    int64_t units;
    if (code == kDelta16) {
      units = load<int16_t>(in);
      in += 2;
    } else if (code == kDelta32) {
      units = load<int32_t>(in);
      in += 4;
    } else {
      units = static_cast<int64_t>(load<uint64_t>(in) << 16) >> 16;
      in += 6;
    }
    if (units == kFullAddress) {
      header.address = load<uint64_t>(in);
      in += 8;
    } else {
      header.address += static_cast<uint64_t>(units) << context.shift;
    }
  }
  context.learn(header, code == kPredicted);
  if (header.length * kRecordUnit > sizeof(RecordHeader)) return unpack_lanes(*record, in);
  return in;
}

const char* RecordDecoder::decode(const uint8_t* packed, size_t bytes, size_t decoded,
                                  std::vector<unsigned char>* out) {
  History::clear();
  const uint8_t* end = packed + bytes;
  if (out->size() < decoded) out->resize(decoded);
  unsigned char* to = out->data();
  unsigned char* const last = to + decoded;
  while (packed < end) {
    Record record;
    packed = decode_record(packed, &record);
    if (!packed || packed > end) return "holds a record that makes no sense";
    const size_t length = size_t{record.header.length} * kRecordUnit;
    if (length > static_cast<size_t>(last - to)) return "holds more records than it says";
    if (length == sizeof(RecordHeader))
      std::memcpy(to, &record, sizeof(RecordHeader));
    else
      std::memcpy(to, &record, length);
    to += length;
  }
  return to == last ? nullptr : "holds fewer records than it says";
}

}  // namespace cuvein::trace
