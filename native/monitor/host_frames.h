// Calls on the host: where the calling thread is in machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cuvein {

// A file with code in this process.
struct HostModule {
  std::string path;
  std::string build_id;  // hex; empty: it has none
};

struct HostFrame {
  int module = -1;      // number; -1: in no file (code made at run time)
  uint64_t offset = 0;  // of the call, as the file counts addresses; without a file the address itself
  std::string symbol;   // mangled, of the exported function it is in; empty: in none
};

// Unwinds the calling thread and knows the files. A place that was met before costs a look-up.
class HostFrames {
 public:
  static constexpr size_t kMost = 128;  // calls of a thread

  // The return addresses of the calling thread's calls, innermost first, at most kMost; each is within its
  // call instruction. *more says whether there are others.
  static std::vector<uint64_t> addresses(bool* more);

  // Number of libraries unloaded so far: addresses may have changed their meaning when it grows.
  static uint64_t unloads();

  // What is at an address now.
  HostFrame frame(uint64_t address);
  const HostModule& module(int number) const { return *modules_[static_cast<size_t>(number)]; }

 private:
  std::vector<std::unique_ptr<HostModule>> modules_;
};

// Whether the frames of a file only tell how cuvein or the driver works: innermost ones are left out.
bool is_driver(const std::string& path);

}  // namespace cuvein
