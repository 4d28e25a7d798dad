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

constexpr uint8_t kMostTrust = 2;
constexpr size_t kLongestToken = 64;
constexpr size_t kLongestLanes = kLongestPackedLanes + kLongestRecord;

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

History::History() : last_of_warp_(size_t{1} << kSlotBits), visits_(size_t{1} << kVisitBits) { clear(); }

void History::clear() {
  contexts_.clear();
  ++generation_;
  // Half of the generation is kept with the slots: wipe them before it repeats.
  if ((generation_ & 0xffff) == 0) ++generation_;
  if ((generation_ & 0xffff) == 1) std::fill(last_of_warp_.begin(), last_of_warp_.end(), 0);
  move_to(0, 0);
}

uint64_t History::predict(const Context& context, int32_t index) {
  const uint64_t hash = (place_ ^ static_cast<uint64_t>(index)) * 0xbf58476d1ce4e5b9u;
  visit_ = &visits_[hash >> (64 - kVisitBits)];
  visit_key_ = (hash & 0xffffffff) << 32 | generation_;
  by_steps_ = context.address + (block_ - context.block) * context.block_step +
              (static_cast<uint64_t>(warp_) - context.warp) * context.warp_step;
  if (visit_->key == visit_key_) {
    by_repeat_ = visit_->address + context.repeat_step;
    if (context.trust_repeat) return by_repeat_;
    return context.trust_steps ? by_steps_ : visit_->address;
  }
  return context.trust_steps ? by_steps_ : context.address;
}

void History::learn(Context* context, const RecordHeader& header) {
  if (visit_->key == visit_key_) {
    if (by_repeat_ == header.address) {
      if (context->trust_repeat < kMostTrust) ++context->trust_repeat;
    } else if (context->trust_repeat) {
      --context->trust_repeat;
    } else {
      context->repeat_step = header.address - visit_->address;
    }
  }
  if (block_ != context->block || warp_ != context->warp) {
    if (by_steps_ == header.address) {
      if (context->trust_steps < kMostTrust) ++context->trust_steps;
    } else if (context->trust_steps) {
      --context->trust_steps;
    } else if (block_ == context->block) {
      context->warp_step =
          quotient(header.address - context->address, static_cast<uint64_t>(warp_) - context->warp);
    } else if (warp_ == context->warp) {
      context->block_step = quotient(header.address - context->address, block_ - context->block);
    }
  }
  *visit_ = {visit_key_, header.address};
  context->address = header.address;
  context->block = block_;
  context->warp = warp_;
  context->mask = header.active;
  context->value = header.value;
}

RecordEncoder::RecordEncoder() : index_(1024, -1) {}

void RecordEncoder::clear() {
  History::clear();
  std::fill(index_.begin(), index_.end(), -1);
  packed_.token_bytes = packed_.lane_bytes = packed_.decoded_bytes = 0;
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
  if (packed_.tokens.size() - packed_.token_bytes < kLongestToken)
    packed_.tokens.resize(packed_.tokens.size() * 2 + kLongestToken);
  if (length > sizeof(RecordHeader) && packed_.lanes.size() - packed_.lane_bytes < kLongestLanes)
    packed_.lanes.resize(packed_.lanes.size() * 2 + kLongestLanes);
  Record record;
  normalise(bytes, length, &record);
  const RecordHeader& header = record.header;
  uint8_t* control = packed_.tokens.data() + packed_.token_bytes;
  uint8_t* out = control + 1;
  packed_.decoded_bytes += length;
  if (!lanes_packable(record)) {
    *control = kEscape;
    *out++ = kAsItIs;
    packed_.token_bytes += 2;
    std::memcpy(packed_.lanes.data() + packed_.lane_bytes, &record, length);
    packed_.lane_bytes += length;
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
    move_to(header.block, header.warp);
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
  const auto difference = static_cast<int64_t>(header.address - predict(context, index));
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
  learn(&context, header);
  *control = static_cast<uint8_t>(bits);
  packed_.token_bytes = static_cast<size_t>(out - packed_.tokens.data());
  if (length > sizeof(RecordHeader)) {
    uint8_t* lanes = packed_.lanes.data() + packed_.lane_bytes;
    packed_.lane_bytes += static_cast<size_t>(pack_lanes(record, lanes) - lanes);
  }
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

bool RecordDecoder::decode_record(const uint8_t** tokens, const uint8_t** lanes, Record* record) {
  const uint8_t* in = *tokens;
  const unsigned bits = *in++;
  const unsigned place = bits >> kPlaceBit & 3;
  if (bits == kEscape && *in == kAsItIs) {
    size_t length;
    if (check_record(*lanes, kLongestRecord, &length) ||
        static_cast<RecordKind>((*lanes)[1]) == RecordKind::kPadding)
      return false;
    normalise(*lanes, length, record);
    *lanes += length;
    *tokens = in + 1;
    return true;
  }

  if (place != kSame) {
    if (place == kNear || place == kFar) {
      const uint32_t packed = place == kNear ? load<uint16_t>(in) : load<uint32_t>(in);
      in += place == kNear ? 2 : 4;
      move_to(block_ + static_cast<uint64_t>(unzigzag(packed >> 5)), packed & 31);
    } else {
      move_to(load<uint64_t>(in + 1), *in);
      in += 9;
    }
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
      if (*in++ != kNewContext) return false;
      in = decode_context(in, &index);
      if (!in) return false;
  }
  if (index < 0 || static_cast<size_t>(index) >= contexts_.size()) return false;
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
  header.address = predict(context, index);
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
  learn(&context, header);
  *tokens = in;
  if (header.length * kRecordUnit > sizeof(RecordHeader)) *lanes = unpack_lanes(*record, *lanes);
  return *lanes != nullptr;
}

const char* RecordDecoder::decode(const uint8_t* tokens, size_t token_bytes, const uint8_t* lanes,
                                  size_t lane_bytes, size_t decoded, std::vector<unsigned char>* out) {
  clear();
  const uint8_t* const token_end = tokens + token_bytes;
  const uint8_t* const lane_end = lanes + lane_bytes;
  if (out->size() < decoded) out->resize(decoded);
  unsigned char* to = out->data();
  unsigned char* const last = to + decoded;
  while (tokens < token_end) {
    Record record;
    if (!decode_record(&tokens, &lanes, &record) || tokens > token_end || lanes > lane_end)
      return "holds a record that makes no sense";
    const size_t length = size_t{record.header.length} * kRecordUnit;
    if (length > static_cast<size_t>(last - to)) return "holds more records than it says";
    std::memcpy(to, &record, length);
    to += length;
  }
  return to == last && lanes == lane_end ? nullptr : "holds fewer records than it says";
}

}  // namespace cuvein::trace
