// Writes a trace file: chunks with checksums, records packed. docs/trace-format.md is the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cuvein {

// Calls are serialised by the caller. Whatever is closed as a chunk is with the operating system at once, so
// that a program that is killed leaves a trace that can be read up to there. Records are gathered until there
// are enough for a chunk or a second has passed; the second is noticed by the next call, so call flush() when
// idle.
//
// A call returns false when its argument is bad (broken() is false; nothing changed) or when the file cannot
// be written (broken() is true; every further call fails too and the file keeps every chunk that was whole).
// Either way error() says why.
class TraceWriter {
 public:
  // Null, with the reason in *error, when the file cannot be made.
  static std::unique_ptr<TraceWriter> create(const std::string& path, const std::string& process_json,
                                             std::string* error);
  ~TraceWriter();  // without close(): closes the file without the end mark, so that it reads as cut off
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  bool module(const void* cubin, size_t bytes);  // kept once, by its SHA-256
  bool begin(const std::string& launch_json);
  bool records(const void* records, size_t bytes);  // whole records of open launches
  // `tensors`: what became known of its tensors after begin(), a JSON list; may be empty.
  bool end(uint32_t launch, const char* incomplete, const std::string& tensors = "");
  bool flush();  // everything so far is on its way to the disk as whole chunks
  bool close();  // writes the end mark; false when anything was lost
  bool broken() const;
  const std::string& error() const;

 private:
  class Implementation;
  explicit TraceWriter(std::unique_ptr<Implementation>);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cuvein
