// The Python frames of the calling thread.
#pragma once

#include <string>
#include <vector>

namespace cuvein {

struct PythonFrame {
  std::string file;
  std::string function;  // qualified where Python has that (3.11)
  int line = 0;          // 0: not known
};

// Innermost first, at most `most`. Needs no GIL and takes none: a library may have released it before it
// launches, and waiting for it here, where the driver holds locks, could be for ever. A thread's frames only
// change while it runs Python code, which it does not do while it is here. Empty with a sentence in *missing
// when the process runs a Python whose frames cannot be read; empty without when there are none.
std::vector<PythonFrame> python_frames(size_t most, std::string* missing);

}  // namespace cuvein
