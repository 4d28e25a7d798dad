// The Python side of cuvein in the program (src/cuvein/inprocess): what it tells and what it is asked.
#pragma once

namespace cuvein {

class Monitor;

Monitor* monitor_of_process();  // null before the driver has loaded it

// Has the Python side look at the program's arrays as soon as the main thread runs Python code again, which
// is when an operator that has launched a kernel returns what it made. Does not wait and needs no GIL.
void ask_program();

// Waits until it has looked, but not long.
void await_program();

}  // namespace cuvein
