// From the trace reader's words to the C ABI's.
#pragma once

#include "capi/cuvein.h"
#include "trace/reader.h"

namespace cuvein::capi {

inline int status_of(TraceReader::Status status) {
  switch (status) {
    case TraceReader::Status::kOk:
      return CUVEIN_OK;
    case TraceReader::Status::kDamaged:
      return CUVEIN_DAMAGED;
    case TraceReader::Status::kForeign:
      return CUVEIN_FOREIGN;
    case TraceReader::Status::kNewer:
      return CUVEIN_NEWER;
    case TraceReader::Status::kSystem:
      return CUVEIN_IO;
  }
  return CUVEIN_INVALID;
}

}  // namespace cuvein::capi
