// Packing of what follows the header of an access: addresses of the lanes and their sizes.
#pragma once

#include <cstdint>

#include "trace/records.h"

namespace cuvein::trace {

// False when the packing cannot hold the record; it is then stored as it is.
bool lanes_packable(Record& record);

// The caller provides room for kLongestPackedLanes bytes.
constexpr unsigned kLongestPackedLanes = 320;
uint8_t* pack_lanes(Record& record, uint8_t* out);

// Fills the lanes of a record whose header is complete; null when the bytes make no sense.
const uint8_t* unpack_lanes(Record& record, const uint8_t* in);

}  // namespace cuvein::trace
