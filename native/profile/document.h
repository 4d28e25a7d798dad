// The launch profile as a JSON document: src/cuvein/profile/model.py is the format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/engine.h"

namespace cuvein {

// Reads what the engine needs from a Launch document. Throws std::invalid_argument with one sentence.
LaunchShape launch_shape(const std::string& launch_json);

// The LaunchProfile document. `process_json` and `launch_json` are embedded; PCs become (function, offset) by
// the launch's function table, of which only what the graph refers to is kept, likewise allocations with what
// they refer to. `tensors` is what became known of tensors later: a list of {"allocation": index, "shape":
// .., "dtype": ..}.
std::string profile_document(const std::string& process_json, const std::string& launch_json,
                             const Graph& graph, const char* engine, const char* incomplete,
                             const std::string& tensors = "");

// The same from parts, for who makes thousands: what is the same for many launches is spelled once and not
// read again. Of a launch without call sites.
struct ProcessParts {
  std::string id;
  std::string document;
};
struct FunctionParts {
  std::string document;
  int64_t offset, size;
  bool launches_kernels;  // see launches_kernels()
};
struct LaunchParts {
  uint32_t sequence;
  std::string before, after;                    // members of the document before and behind the two lists
  const std::vector<FunctionParts>* functions;  // the kernel first
  std::vector<std::string> allocations;         // empty: not referred to
};
std::string profile_document(const ProcessParts& process, const LaunchParts& launch, const Graph& graph,
                             const char* engine, const char* incomplete);

// Whether a function is called to launch a kernel from the device.
bool launches_kernels(const std::string& mangled);

// Writes a file so that a reader sees all of it or none, also when the writer is killed. False with the
// reason in *error.
bool write_atomically(const std::string& path, const std::string& content, std::string* error);

// SHA-256 in lower-case hex.
std::string sha256_hex(const void* data, size_t bytes);

}  // namespace cuvein
