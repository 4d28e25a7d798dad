#include "profile/counted.h"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace cuvein {
namespace {

constexpr uint32_t kVersion = 1;

template <typename Number>
void put(std::string* out, Number value) {
  static_assert(std::is_integral_v<Number>);
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::string* out, const std::string& text) {
  put(out, static_cast<uint32_t>(text.size()));
  *out += text;
}

class Reader {
 public:
  Reader(const void* data, size_t bytes) : at_(static_cast<const char*>(data)), left_(bytes) {}

  template <typename Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string text() {
    const auto bytes = number<uint32_t>();
    return std::string(take(bytes), bytes);
  }
  // Of entries that take so many bytes at least.
  uint32_t count(size_t least) {
    const auto entries = number<uint32_t>();
    if (entries > left_ / least) fail();
    return entries;
  }
  void end() const {
    if (left_ != 0) fail();
  }

 private:
  [[noreturn]] static void fail() { throw std::invalid_argument("the counts of a launch make no sense"); }
  const char* take(size_t bytes) {
    if (bytes > left_) fail();
    const char* taken = at_;
    at_ += bytes;
    left_ -= bytes;
    return taken;
  }

  const char* at_;
  size_t left_;
};

}  // namespace

std::string packed(const std::vector<FunctionParts>& functions) {
  std::string out;
  put(&out, static_cast<uint32_t>(functions.size()));
  for (const FunctionParts& function : functions) {
    put(&out, function.document);
    put(&out, function.offset);
    put(&out, function.size);
    put(&out, static_cast<uint8_t>(function.launches_kernels));
  }
  return out;
}

std::string packed(const std::vector<std::string>& allocations) {
  std::string out;
  put(&out, static_cast<uint32_t>(allocations.size()));
  for (const std::string& allocation : allocations) put(&out, allocation);
  return out;
}

std::string packed(const CountedLaunch& launch, const Aggregate& counts) {
  std::string out;
  out.reserve(256 + launch.process->document.size() + launch.before.size() + launch.functions->size() +
              launch.allocations->size() + 16 * counts.counts().size());
  put(&out, kVersion);
  put(&out, launch.process->id);
  put(&out, launch.process->document);
  put(&out, launch.sequence);
  put(&out, launch.before);
  out += *launch.functions;
  out += *launch.allocations;
  put(&out, launch.code_base);
  put(&out, launch.incomplete);
  put(&out, static_cast<uint32_t>(counts.counts().size()));
  for (const auto& [key, count] : counts.counts()) {
    put(&out, key);
    put(&out, count);
  }
  return out;
}

std::string counted_profile(const void* data, size_t bytes, bool* incomplete) {
  Reader in(data, bytes);
  if (in.number<uint32_t>() != kVersion)
    throw std::invalid_argument("the counts of a launch are of another version of cuvein");
  ProcessParts process;
  process.id = in.text();
  process.document = in.text();
  LaunchParts launch;
  launch.sequence = in.number<uint32_t>();
  launch.before = in.text();
  std::vector<FunctionParts> functions(in.count(2 * sizeof(int64_t)));
  for (FunctionParts& function : functions) {
    function.document = in.text();
    function.offset = in.number<int64_t>();
    function.size = in.number<int64_t>();
    function.launches_kernels = in.number<uint8_t>() != 0;
  }
  launch.functions = &functions;
  launch.allocations.resize(in.count(sizeof(uint32_t)));
  for (std::string& allocation : launch.allocations) allocation = in.text();
  const auto code_base = in.number<int64_t>();
  std::string why = in.text();
  Aggregate counts;
  for (uint32_t left = in.count(2 * sizeof(uint64_t)); left != 0; --left) {
    const auto key = in.number<uint64_t>();
    counts.add(key, in.number<uint64_t>());
  }
  in.end();
  Graph graph;
  add_counts(counts, code_base, &graph, &why);
  *incomplete = !why.empty();
  return profile_document(process, launch, graph, "gpu", why.empty() ? nullptr : why.c_str());
}

void add_counts(const Aggregate& counts, int64_t code_base, Graph* graph, std::string* incomplete) {
  std::string contradiction = why_incomplete(counts.findings());
  try {
    *graph = counts.graph(code_base, *graph);
  } catch (const std::runtime_error& error) {
    contradiction = error.what();
  }
  if (incomplete->empty()) *incomplete = contradiction;
}

}  // namespace cuvein
