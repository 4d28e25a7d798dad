#include "profile/counted.h"

#include "capi/guard.h"

using namespace cuvein;
using namespace cuvein::capi;

int cuvein_counted_profile(const void* data, size_t bytes, const char** json) {
  return guarded([&] {
    if (!data || !json) return report(CUVEIN_INVALID, "the counts or the place for the profile are missing");
    thread_local std::string profile;
    bool incomplete = false;
    profile = counted_profile(data, bytes, &incomplete);
    *json = profile.c_str();
    return static_cast<int>(CUVEIN_OK);
  });
}
