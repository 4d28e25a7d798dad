// Writing to files from inside somebody else's program.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace cuvein {

// write(2) that the program under test does not notice when it fails: beyond a file size limit and on a
// closed pipe the system would send a signal, which by default ends the program. Here it is only an error.
ssize_t write_quietly(int file, const void* data, size_t bytes);

// Takes room for an empty file to become so long, likewise. False: there is none.
bool reserve_quietly(int file, size_t bytes);

}  // namespace cuvein
