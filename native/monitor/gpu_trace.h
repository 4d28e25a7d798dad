// PyTorch's reports of what its caching allocator does, which it makes by calling Python.
#pragma once

namespace cuvein {

// PyTorch frees memory also while an exception is on its way to Python, and its report would lose the
// exception, so that the program fails. With this the exception is put aside meanwhile.
//
// find: whether this can be done, with the functions of a library that the process has loaded; before the
// reports are switched on. keep: does it, after that.
bool find_gpu_trace(const char* library);
void keep_exceptions_of_gpu_trace();

}  // namespace cuvein
