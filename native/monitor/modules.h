// Modules and kernels: what they contain, and whether they are patched.
#pragma once

#include <sanitizer.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "monitor/cubin.h"
#include "monitor/gpu_code.h"
#include "monitor/selection.h"
#include "profile/document.h"

namespace cuvein {

// A kernel by its symbol, over all modules.
struct Kernel {
  std::string name;
  std::string mangled;
  std::string name_text, mangled_text;  // as JSON
  bool matches = false;
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> selected{0};
};

// The machine code of a module, for as long as a launch may still need it.
struct Code {
  Cubin cubin;
  std::vector<CodeFacts> facts;  // by section, of modules with a kernel that matches
  std::mutex mutex;              // guards what follows
  std::vector<char> image;       // empty once it was stored
  std::string sha256;            // empty before
};

// A kernel as launched from one module: where its code lies.
struct Entry {
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<Code> code;
  uint64_t pc = 0;  // virtual address
  uint64_t static_shared = 0;
  std::vector<FunctionParts> functions;  // of the Launch document
  std::string packed_functions;          // the same, see profile/counted.h
};

struct Module {
  CUmodule handle = nullptr;
  CUcontext context = nullptr;
  std::shared_ptr<Code> code;
  bool wanted = false;                 // has a kernel that matches
  bool patched = false;                // guarded by Modules::patching_
  bool unpatchable = false;            // likewise
  std::vector<uint64_t> variables;     // their addresses
  std::atomic<bool> impatient{false};  // they lasted too long to wait for their end
  std::atomic<int> open{0};            // profiled launches that have not ended
  std::mutex mutex;                    // guards entries
  std::unordered_map<std::string, std::shared_ptr<const Entry>> entries;
};

class Modules {
 public:
  Modules(const Selection& selection, const Config& config);

  std::shared_ptr<Module> loaded(const Sanitizer_ResourceModuleData& data, bool patch_now);
  std::shared_ptr<Module> unloading(CUmodule handle);  // null: not known
  void context_destroyed(CUcontext context);

  std::shared_ptr<Module> find(CUmodule module);
  std::shared_ptr<Kernel> kernel(const char* symbol);
  std::vector<std::shared_ptr<Kernel>> kernels();

  // Where a kernel's code is now; null with *error when the Sanitizer API does not know it.
  std::shared_ptr<const Entry> entry(Module* module, const std::shared_ptr<Kernel>& kernel,
                                     std::string* error);

  // Makes the module call the patches, or not. False, with *error set the first time, when that fails.
  bool patch(Module* module, std::string* error);
  bool unpatch(Module* module, std::string* error);
  bool is_patched(Module* module);

  // An instantiated graph holds on to the code it was made with: from now on every wanted module is patched
  // and stays so.
  void freeze(std::string* error);

 private:
  bool load_patches(CUcontext context, std::string* error);
  bool patch_locked(Module* module, std::string* error);
  std::vector<FunctionParts> functions(const Module& module, const Kernel& kernel, uint64_t pc,
                                       uint64_t size) const;

  const Selection& selection_;
  const Config& config_;
  std::mutex mutex_;  // guards modules_ and kernels_
  std::unordered_map<CUmodule, std::shared_ptr<Module>> modules_;
  std::map<std::string, std::shared_ptr<Kernel>> kernels_;
  std::mutex patching_;  // the Sanitizer API wants patching serialised
  std::unordered_set<CUcontext> with_patches_;
  bool frozen_ = false;
};

}  // namespace cuvein
