#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "profile/document.h"

namespace cuvein {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument("the launch document " + why);
}

const Json& member(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end()) refuse(std::string("has no \"") + key + '"');
  return *found;
}

template <typename T>
T unsigned_number(const Json& value, const char* what, T least) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<T>::max() ||
      value.get<uint64_t>() < least)
    refuse(std::string("has a bad number in \"") + what + '"');
  return value.get<T>();
}

void dimensions(const Json& value, const char* what, uint32_t* out) {
  if (!value.is_array() || value.size() != 3) refuse(std::string("needs three numbers in \"") + what + '"');
  for (size_t i = 0; i < 3; ++i) out[i] = unsigned_number<uint32_t>(value[i], what, 1);
}

}  // namespace

LaunchShape launch_shape(const std::string& launch_json) {
  const Json document = Json::parse(launch_json, nullptr, false);
  if (document.is_discarded()) refuse("is not JSON");
  if (!document.is_object()) refuse("is not a JSON object");
  LaunchShape shape;
  shape.sequence = unsigned_number<uint32_t>(member(document, "sequence"), "sequence", 1);
  dimensions(member(document, "grid"), "grid", shape.grid);
  dimensions(member(document, "block"), "block", shape.block);
  if (const auto cluster = document.find("cluster"); cluster != document.end() && !cluster->is_null())
    dimensions(*cluster, "cluster", shape.cluster);
  const Json& allocations = member(document, "allocations");
  if (!allocations.is_array()) refuse("needs a list in \"allocations\"");
  shape.allocations.reserve(allocations.size());
  for (const Json& allocation : allocations) {
    if (!allocation.is_object()) refuse("needs objects in \"allocations\"");
    shape.allocations.push_back({unsigned_number<uint64_t>(member(allocation, "address"), "address", 0),
                                 unsigned_number<uint64_t>(member(allocation, "size"), "size", 0)});
  }
  return shape;
}

}  // namespace cuvein
