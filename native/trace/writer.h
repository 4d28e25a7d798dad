// Writes a trace file: chunks with checksums, records packed. docs/trace-format.md is the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cuvein {

// Calls are serialised by the caller. After a failure every further call fails too and error() says why; the
// file keeps every chunk that was whole.
class TraceWriter {
 public:
  // Null, with the reason in *error, when the file cannot be made.
  static std::unique_ptr<TraceWriter> create(const std::string& path, const std::string& process_json,
                                             std::string* error);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  bool module(const void* cubin, size_t bytes);  // kept once, by its SHA-256
  bool begin(const std::string& launch_json);
  bool records(const void* records, size_t bytes);  // whole records of open launches
  bool end(uint32_t launch, const char* incomplete);
  bool flush();  // everything so far is on its way to the disk as whole chunks
  bool close();  // writes the end mark; false when anything was lost
  const std::string& error() const;

 private:
  class Implementation;
  explicit TraceWriter(std::unique_ptr<Implementation>);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cuvein
