// Questions to the CUDA driver that is loaded in this process.
#pragma once

#include <cuda.h>

#include "monitor/launch.h"
#include "monitor/output.h"

namespace cuvein {

// Also tells the output the driver's CUDA version. Not to be called from a callback of the Sanitizer API.
DeviceFacts device_facts(int device, Output* output);

// Where a variable of a module lies; false when the module has none of that name.
bool variable_address(CUmodule module, const char* symbol, uint64_t* address, uint64_t* size);

}  // namespace cuvein
