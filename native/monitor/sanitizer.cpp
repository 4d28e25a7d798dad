#include "monitor/sanitizer.h"

#include <dlfcn.h>

namespace cuvein {

std::string Sanitizer::load(const std::string& path) {
  if (path.empty()) return "no Sanitizer API library was named";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return "the Sanitizer API library could not be loaded: " + std::string(reason ? reason : path);
  }
#define CUVEIN_LOAD(name)                                                                              \
  name = reinterpret_cast<decltype(name)>(dlsym(library, "sanitizer" #name));                          \
  if (name == nullptr) {                                                                               \
    return "the Sanitizer API library " + path + " has no function sanitizer" #name "; it is too old"; \
  }
  CUVEIN_SANITIZER_FUNCTIONS(CUVEIN_LOAD)
#undef CUVEIN_LOAD
  return "";
}

std::string Sanitizer::text(SanitizerResult result) const {
  const char* string = nullptr;
  if (GetResultString(result, &string) != SANITIZER_SUCCESS || string == nullptr) {
    return "Sanitizer API error " + std::to_string(result);
  }
  return string;
}

Sanitizer& sanitizer() {
  static Sanitizer* instance = new Sanitizer;  // never destroyed: callbacks may come after static destructors
  return *instance;
}

}  // namespace cuvein
