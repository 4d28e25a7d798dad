#include <cstring>
#include <regex>

#include "capi/guard.h"

using namespace cuvein::capi;

namespace {
// The standard library's compiler recurses once a parenthesis, so length must be bounded.
constexpr size_t kLongestExpression = 4096;
}  // namespace

int cuvein_check_regex(const char* expression) {
  return guarded([&] {
    if (!expression) return report(CUVEIN_INVALID, "the regular expression is missing");
    if (std::strlen(expression) > kLongestExpression)
      return report(CUVEIN_INVALID, "the regular expression is longer than 4096 bytes");
    try {
      std::regex compiled(expression, std::regex::ECMAScript);
    } catch (const std::regex_error& problem) {
      return report(CUVEIN_INVALID, "the regular expression \"" + std::string(expression) +
                                        "\" is not valid ECMAScript: " + problem.what());
    }
    return static_cast<int>(CUVEIN_OK);
  });
}
