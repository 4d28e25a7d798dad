// How the monitor spells JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cuvein {

// On one line. Names that are no UTF-8 come from programs and file systems: what cannot be spelled is
// replaced.
inline std::string text(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cuvein
