#include "capi/guard.h"

namespace cuvein::capi {

namespace {
thread_local std::string last_error;
}

int report(int status, const std::string& sentence) noexcept {
  try {
    last_error = sentence;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

}  // namespace cuvein::capi

const char* cuvein_error(void) { return cuvein::capi::last_error.c_str(); }
