// Whether records are what record.h says, so that nothing behind this point has to doubt them.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/launch_shape.h"
#include "model/record.h"

namespace cuvein {

// Whether the record at this place is whole and fits its launch. At least record->length * 16 bytes are
// readable.
bool valid(const RecordHeader& record, const LaunchGeometry& launch);

// What a record says of itself, for a sentence about it.
std::string describe(const RecordHeader& record);

}  // namespace cuvein
