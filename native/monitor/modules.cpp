#include "monitor/modules.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "monitor/json_text.h"
#include "monitor/sanitizer.h"
#include "profile/counted.h"

namespace cuvein {
namespace {

struct Patch {
  Sanitizer_InstructionId instruction;
  const char* callback;
};

// Where what barriers order is followed, those of modules with barriers are named so.
constexpr const char* kOrderSuffix = "_order";
constexpr Sanitizer_InstructionId kFollowed[] = {
    SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, SANITIZER_INSTRUCTION_SHARED_MEMORY_ACCESS,
    SANITIZER_INSTRUCTION_MATRIX_MEMORY_ACCESS, SANITIZER_INSTRUCTION_MEMCPY_ASYNC};

constexpr Patch kPatches[] = {
    {SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, "cuvein_global"},
    {SANITIZER_INSTRUCTION_SHARED_MEMORY_ACCESS, "cuvein_shared"},
    {SANITIZER_INSTRUCTION_LOCAL_MEMORY_ACCESS, "cuvein_local"},
    {SANITIZER_INSTRUCTION_MATRIX_MEMORY_ACCESS, "cuvein_matrix"},
    {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, "cuvein_copy"},
    {SANITIZER_INSTRUCTION_BLOCK_EXIT, "cuvein_exit"},
    {SANITIZER_INSTRUCTION_BARRIER, "cuvein_barrier"},
    {SANITIZER_INSTRUCTION_SYNCWARP, "cuvein_syncwarp"},
    {SANITIZER_INSTRUCTION_PIPELINE_COMMIT, "cuvein_commit"},
    {SANITIZER_INSTRUCTION_PIPELINE_WAIT, "cuvein_wait"},
    {SANITIZER_INSTRUCTION_CLUSTER_BARRIER_ARRIVE, "cuvein_cluster_arrive"},
    {SANITIZER_INSTRUCTION_CLUSTER_BARRIER_WAIT, "cuvein_cluster_wait"},
    {SANITIZER_INSTRUCTION_CUDA_BARRIER, "cuvein_mbarrier"},
    {SANITIZER_INSTRUCTION_CUDA_BARRIER_ATTEMPT, "cuvein_mbarrier_attempt"},
    {SANITIZER_INSTRUCTION_DEVICE_SIDE_MALLOC, "cuvein_malloc"},
    {SANITIZER_INSTRUCTION_DEVICE_ALIGNED_MALLOC, "cuvein_malloc"},
    {SANITIZER_INSTRUCTION_DEVICE_SIDE_FREE, "cuvein_free"},
    {SANITIZER_INSTRUCTION_REMOTE_SHARED_MEMORY_ACCESS, "cuvein_remote_shared"},
    {SANITIZER_INSTRUCTION_WARPGROUP_MMA_ASYNC, "cuvein_wgmma"},
    {SANITIZER_INSTRUCTION_ASYNC_STORE, "cuvein_async_store"},
    {SANITIZER_INSTRUCTION_ASYNC_REDUCTION, "cuvein_async_reduction"},
    {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, "cuvein_bulk_load"},
    {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL, "cuvein_bulk_store"},
    {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_SHARED, "cuvein_bulk_move"},
    {SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL, "cuvein_bulk_reduce_global"},
    {SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_SHARED, "cuvein_bulk_reduce_shared"},
    {SANITIZER_INSTRUCTION_MEMSET_SHARED, "cuvein_shared_memset"},
    {SANITIZER_INSTRUCTION_TMA_LOAD, "cuvein_tma_load"},
    {SANITIZER_INSTRUCTION_TMA_STORE, "cuvein_tma_store"},
    {SANITIZER_INSTRUCTION_TENSOR_CORE_BARRIER, "cuvein_tensor_core_commit"},
    {SANITIZER_INSTRUCTION_CLUSTER_LAUNCH_CONTROL, "cuvein_cluster_launch"},
};

// Functions beside the kernel that are listed in a launch document at most.
constexpr size_t kMostFunctions = 4096;

// Functions that the compiler puts into a kernel's own section are named "$KERNEL$FUNCTION" or
// "$__internal_NUMBER_$FUNCTION".
std::string plain_symbol(const std::string& symbol, const std::string& kernel) {
  const std::string prefix = "$" + kernel + "$";
  if (symbol.rfind(prefix, 0) == 0) return symbol.substr(prefix.size());
  if (symbol.rfind("$__internal_", 0) != 0) return symbol;
  const size_t mark = symbol.find("_$", 1);
  return mark == std::string::npos ? symbol : symbol.substr(mark + 2);
}

FunctionParts function_parts(const std::string& symbol, int64_t offset, uint64_t size) {
  return {text({{"name", demangle(symbol)}, {"mangled", symbol}, {"offset", offset}, {"size", size}}), offset,
          static_cast<int64_t>(size), launches_kernels(symbol)};
}

}  // namespace

Modules::Modules(const Selection& selection, const Config& config) : selection_(selection), config_(config) {}

std::shared_ptr<Module> Modules::loaded(const Sanitizer_ResourceModuleData& data, bool patch_now) {
  auto module = std::make_shared<Module>();
  module->handle = data.module;
  module->context = data.context;
  module->code = std::make_shared<Code>();
  module->code->cubin = parse_cubin(data.pCubin, data.cubinSize);
  for (const CubinFunction& function : module->code->cubin.functions) {
    if (function.kernel && kernel(function.symbol.c_str())->matches) {
      module->wanted = true;
      break;
    }
  }
  if (module->wanted) {
    module->code->image.assign(data.pCubin, data.pCubin + data.cubinSize);
    if (config_.gpu) module->code->facts = decode_module(data.pCubin, data.cubinSize);
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    modules_[data.module] = module;
  }
  bool frozen;
  {
    std::lock_guard<std::mutex> lock(patching_);
    frozen = frozen_;
  }
  // A failure is reported by the launch that meets it.
  std::string error;
  if (module->wanted && (patch_now || frozen)) patch(module.get(), &error);
  return module;
}

std::shared_ptr<Module> Modules::unloading(CUmodule handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = modules_.find(handle);
  if (found == modules_.end()) return nullptr;
  std::shared_ptr<Module> module = found->second;
  modules_.erase(found);
  return module;
}

void Modules::context_destroyed(CUcontext context) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto i = modules_.begin(); i != modules_.end();) {
      i = i->second->context == context ? modules_.erase(i) : std::next(i);
    }
  }
  std::lock_guard<std::mutex> lock(patching_);
  with_patches_.erase(context);
}

std::shared_ptr<Module> Modules::find(CUmodule module) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = modules_.find(module);
  return found == modules_.end() ? nullptr : found->second;
}

std::shared_ptr<Kernel> Modules::kernel(const char* symbol) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Kernel>& kernel = kernels_[symbol ? symbol : ""];
  if (!kernel) {
    kernel = std::make_shared<Kernel>();
    kernel->mangled = symbol ? symbol : "";
    kernel->name = demangle(kernel->mangled);
    kernel->name_text = text(kernel->name);
    kernel->mangled_text = text(kernel->mangled);
    kernel->matches = selection_.matches(kernel->name, kernel->mangled);
  }
  return kernel;
}

std::vector<std::shared_ptr<Kernel>> Modules::kernels() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Kernel>> result;
  for (const auto& [symbol, kernel] : kernels_) {
    if (kernel->launches != 0) result.push_back(kernel);
  }
  return result;
}

std::vector<FunctionParts> Modules::functions(const Module& module, const Kernel& kernel, uint64_t pc,
                                              uint64_t size) const {
  std::vector<FunctionParts> functions;
  functions.push_back(function_parts(kernel.mangled, 0, size));
  const std::vector<CubinFunction>& all = module.code->cubin.functions;
  const CubinFunction* self = nullptr;
  for (const CubinFunction& function : all) {
    if (function.symbol == kernel.mangled) self = &function;
  }
  for (const CubinFunction& function : all) {
    if (function.kernel || functions.size() > kMostFunctions) continue;
    if (self != nullptr && function.section == self->section) {
      const int64_t offset = static_cast<int64_t>(function.offset) - static_cast<int64_t>(self->offset);
      functions.push_back(
          function_parts(plain_symbol(function.symbol, kernel.mangled), offset, function.size));
      continue;
    }
    uint64_t other_pc = 0, other_size = 0;
    if (sanitizer().GetFunctionPcAndSize(module.handle, function.symbol.c_str(), &other_pc, &other_size) ==
        SANITIZER_SUCCESS) {
      functions.push_back(function_parts(function.symbol, static_cast<int64_t>(other_pc - pc), other_size));
    }
  }
  return functions;
}

std::shared_ptr<const Entry> Modules::entry(Module* module, const std::shared_ptr<Kernel>& kernel,
                                            std::string* error) {
  uint64_t pc = 0, size = 0;
  const SanitizerResult result =
      sanitizer().GetFunctionPcAndSize(module->handle, kernel->mangled.c_str(), &pc, &size);
  if (result != SANITIZER_SUCCESS) {
    *error = "the address of kernel " + kernel->name + " is not known: " + sanitizer().text(result);
    return nullptr;
  }
  {
    std::lock_guard<std::mutex> lock(module->mutex);
    const auto found = module->entries.find(kernel->mangled);
    if (found != module->entries.end() && found->second->pc == pc) return found->second;
  }
  auto entry = std::make_shared<Entry>();
  entry->kernel = kernel;
  entry->code = module->code;
  entry->pc = pc;
  entry->static_shared = module->code->cubin.static_shared_of(kernel->mangled);
  entry->functions = functions(*module, *kernel, pc, size);
  entry->packed_functions = packed(entry->functions);
  std::lock_guard<std::mutex> lock(module->mutex);
  return module->entries[kernel->mangled] = entry;
}

bool Modules::load_patches(CUcontext context, std::string* error) {
  if (with_patches_.count(context) != 0) return true;
  static const std::vector<std::string> full = {"access", "synchronization", "coverage"};
  static const std::vector<std::string> on_gpu = {"gpu_access", "gpu_synchronization", "coverage"};
  static const std::vector<std::string> with_order = {"gpu_access_order", "gpu_synchronization_order",
                                                      "coverage"};
  static const std::vector<std::string> empty = {"empty"};
  const std::vector<std::string>& of_engine = !config_.gpu            ? full
                                              : config_.barrier_order ? with_order
                                                                      : on_gpu;
  for (const std::string& name : config_.empty_patches ? empty : of_engine) {
    const std::string path = config_.patches + "/" + name + ".fatbin";
    const SanitizerResult result = sanitizer().AddPatchesFromFile(path.c_str(), context);
    if (result != SANITIZER_SUCCESS) {
      *error = "the patches " + path + " could not be loaded: " + sanitizer().text(result);
      return false;
    }
  }
  with_patches_.insert(context);
  return true;
}

bool Modules::patch_locked(Module* module, std::string* error) {
  if (module->patched) return true;
  if (module->unpatchable) return false;
  module->unpatchable = true;  // until it has worked; a failure is reported once
  if (!load_patches(module->context, error)) return false;
  bool barriers = false;
  for (const CodeFacts& facts : module->code->facts) barriers |= facts.barriers;
  const bool follow = config_.gpu && config_.barrier_order && !config_.empty_patches && barriers;
  for (const Patch& patch : kPatches) {
    std::string callback = patch.callback;
    if (follow &&
        std::find(std::begin(kFollowed), std::end(kFollowed), patch.instruction) != std::end(kFollowed))
      callback += kOrderSuffix;
    const SanitizerResult result =
        sanitizer().PatchInstructions(patch.instruction, module->handle, callback.c_str());
    if (result != SANITIZER_SUCCESS) {
      *error = "the callback " + callback + " was refused: " + sanitizer().text(result);
      return false;
    }
  }
  const SanitizerResult result = sanitizer().PatchModule(module->handle);
  if (result != SANITIZER_SUCCESS) {
    *error = "a module could not be instrumented: " + sanitizer().text(result);
    return false;
  }
  module->patched = true;
  module->unpatchable = false;
  return true;
}

bool Modules::patch(Module* module, std::string* error) {
  std::lock_guard<std::mutex> lock(patching_);
  return patch_locked(module, error);
}

bool Modules::unpatch(Module* module, std::string* error) {
  std::lock_guard<std::mutex> lock(patching_);
  if (!module->patched || frozen_ || module->open != 0) return !module->patched;
  const SanitizerResult result = sanitizer().UnpatchModule(module->handle);
  if (result != SANITIZER_SUCCESS) {
    *error = "the instrumentation of a module could not be removed: " + sanitizer().text(result);
    return false;
  }
  module->patched = false;
  return true;
}

bool Modules::is_patched(Module* module) {
  std::lock_guard<std::mutex> lock(patching_);
  return module->patched;
}

void Modules::freeze(std::string* error) {
  std::vector<std::shared_ptr<Module>> wanted;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [handle, module] : modules_) {
      if (module->wanted) wanted.push_back(module);
    }
  }
  std::lock_guard<std::mutex> lock(patching_);
  frozen_ = true;
  for (const auto& module : wanted) patch_locked(module.get(), error);
}

}  // namespace cuvein
