// Profiles on their way to their files, where they outlive the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cuvein {

// A file in memory that the system writes out whatever becomes of the process. A program that waits for its
// kernels waits until their profiles are here, or what these are made of, which takes microseconds; to make
// a file takes hundreds of them on some systems. What is left here of a process that was killed, `cuvein run`
// and whoever reads the profiles moves to files (src/cuvein/collect/journal.py).
class Journal {
 public:
  enum class Kind : uint32_t {
    kProfile = 1,  // the text
    kCounts = 2,   // see profile/counted.h
  };

  // Null where it cannot be had: no room, or the file system has no such memory.
  static std::unique_ptr<Journal> create(const std::string& path);
  ~Journal();  // with the file, unless something is left in it
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Keeps what there is of a launch. Returns its number here; -1: there is no room.
  int keep(Kind kind, uint32_t sequence, const std::string& content);
  void drop(int number);  // it is where it belongs

 private:
  struct Head;
  struct Entry;

  Journal(std::string path, char* memory);
  Entry* entry(int number) const;
  bool find_room(uint64_t bytes, uint64_t* offset) const;

  const std::string path_;
  char* const memory_;
  std::mutex mutex_;                    // guards what follows
  std::map<uint64_t, uint64_t> taken_;  // bytes by offset
  uint64_t next_;                       // where there was room last
  std::vector<int> free_;               // numbers
};

}  // namespace cuvein
