// The functions of NVIDIA's Sanitizer API that the monitor uses, loaded at run time from where the launcher
// says, so that the monitor itself can be loaded without them and report what is missing.
#pragma once

#include <sanitizer.h>

#include <string>

namespace cuvein {

#define CUVEIN_SANITIZER_FUNCTIONS(F) \
  F(Subscribe)                        \
  F(Unsubscribe)                      \
  F(EnableDomain)                     \
  F(EnableCallback)                   \
  F(Alloc)                            \
  F(AllocHost)                        \
  F(MemcpyHostToDeviceAsync)          \
  F(Memset)                           \
  F(StreamSynchronize)                \
  F(GetStreamHandle)                  \
  F(AddPatchesFromFile)               \
  F(PatchInstructions)                \
  F(PatchModule)                      \
  F(UnpatchModule)                    \
  F(SetLaunchCallbackData)            \
  F(GetFunctionPcAndSize)             \
  F(GetResultString)

struct Sanitizer {
#define CUVEIN_DECLARE(name) decltype(&sanitizer##name) name = nullptr;
  CUVEIN_SANITIZER_FUNCTIONS(CUVEIN_DECLARE)
#undef CUVEIN_DECLARE

  // Empty when everything was found, else what is wrong.
  std::string load(const std::string& path);
  std::string text(SanitizerResult result) const;
};

// The one of this process; usable once load() succeeded.
Sanitizer& sanitizer();

}  // namespace cuvein
