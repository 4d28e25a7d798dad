#include "trace/records.h"

#include <cstring>

namespace cuvein::trace {

const char* check_record(const unsigned char* record, size_t bytes, size_t* length) {
  if (bytes < kRecordUnit) return "ends in the middle of a record";
  *length = size_t{record[0]} * kRecordUnit;
  if (*length == 0) return "holds a record of length 0";
  if (*length > bytes) return "ends in the middle of a record";
  auto kind = static_cast<RecordKind>(record[1]);
  if (kind == RecordKind::kPadding) return nullptr;
  if (record[1] >= kRecordKindCount) return "holds a record of unknown kind";
  if (*length < sizeof(RecordHeader)) return "holds a record of the wrong length";
  auto form = static_cast<AddressForm>(record[2]);
  uint8_t flags = record[3];
  if (kind != RecordKind::kAccess) {
    form = AddressForm::kAffine;
    flags = 0;
  } else {
    if (record[2] >= kAddressFormCount) return "holds an access with an unknown address form";
    if (record[5] >= kAccessTypeCount) return "holds an access of unknown type";
    uint8_t size = record[6];
    if (size == 0 || size > 16 || (size & (size - 1)))
      return "holds an access that is not of 1, 2, 4, 8 or 16 bytes";
  }
  if (field_use(kind).space && record[4] >= kSpaceCount) return "holds a record of an unknown memory space";
  if (*length != record_bytes(form, flags)) return "holds a record of the wrong length";
  return nullptr;
}

void normalise(const unsigned char* record, size_t length, Record* out) {
  std::memcpy(out, record, length);
  RecordHeader& header = out->header;
  const FieldUse use = field_use(header.kind);
  header.reserved = 0;
  if (!use.access) {
    header.form = AddressForm::kAffine;
    header.flags = 0;
    header.type = AccessType::kRead;
    header.size = 0;
    if (!use.space) header.space = Space::kGlobal;
  }
  if (!use.pc) header.pc = 0;
  if (!use.active) header.active = 0;
  if (!use.address) header.address = 0;
  if (!use.value) header.value = 0;
  if (length == sizeof(RecordHeader)) return;
  if (header.form == AddressForm::kLanes32) {
    header.value = 0;
    for (unsigned lane = 0; lane < kWarpLanes; ++lane)
      if (!(header.active >> lane & 1)) out->lanes_32()[lane] = 0;
  } else if (header.form == AddressForm::kLanes64) {
    header.value = 0;
    for (unsigned lane = 0; lane < kWarpLanes; ++lane)
      if (!(header.active >> lane & 1)) out->lanes_64()[lane] = 0;
    header.address = header.active ? out->lanes_64()[__builtin_ctz(header.active)] : 0;
  }
  if (header.flags & kRecordFlagLaneSizes)
    for (unsigned lane = 0; lane < kWarpLanes; ++lane)
      if (!(header.active >> lane & 1)) out->lane_sizes()[lane] = 0;
}

}  // namespace cuvein::trace
