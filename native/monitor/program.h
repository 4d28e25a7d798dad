// The Python side of cuvein in the program (src/cuvein/inprocess): what it tells and what it is asked.
#pragma once

#include <cstdint>

#include "monitor/patience.h"

namespace cuvein {

class Monitor;

Monitor* monitor_of_process();  // null before the driver has loaded it

// Has the Python side look at the program's arrays as soon as the main thread runs Python code again, which
// is when an operator that has launched a kernel returns what it made. Does not wait and needs no GIL.
// Returns the number of this question; 0: no one will look.
uint64_t ask_program();

// Waits until it has looked because of this question or a later one. A look that has begun is waited for in
// any case, but not for ever: it may be one at all objects.
void await_program(uint64_t question, const Patience& patience);

}  // namespace cuvein
