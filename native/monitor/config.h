// What the launcher asks of the monitor: the JSON file that the environment variable CUVEIN_CONFIG names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cuvein {

struct Config {
  std::string sanitizer;          // path of libsanitizer-public.so
  std::string sanitizer_version;  // of it; empty: not known
  std::string patches;            // folder with the compiled patches
  std::string output;             // folder for profiles; empty: none
  std::string trace;              // trace file of this process; empty: none
  bool analyse = true;            // run the host engine
  bool gpu = false;               // on the GPU, where that can be done exactly
  bool small_on_host = false;     // but not launches that the host engine is done with sooner
  uint64_t shadow_bytes = 0;      // of device memory that this may take; 0: not said
  bool empty_patches = false;  // load callbacks that do nothing: the floor that overhead is measured against
  unsigned workers = 0;
  std::string kernel_name;          // empty: every kernel
  std::string exclude_kernel_name;  // empty: none
  uint64_t launch_skip = 0;
  std::optional<uint64_t> launch_count;
  bool profile_from_start = true;
  bool barrier_order = false;   // the GPU engine follows what block barriers order
  bool merge_launches = false;  // of a kernel into one profile
  std::vector<std::string> nvtx_include;
  bool allocations = true;
  bool call_sites = false;  // find out where on the host launches and allocations are asked for
  uint64_t ring_bytes = 0;  // a power of two
};

// Nothing when this process is not to be profiled: no configuration, or one that cannot be read.
std::optional<Config> read_config();

}  // namespace cuvein
