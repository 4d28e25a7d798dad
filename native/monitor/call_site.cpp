#include "monitor/call_site.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "monitor/autograd.h"
#include "monitor/host_frames.h"
#include "monitor/json_text.h"
#include "monitor/nvtx.h"
#include "monitor/operators.h"

namespace cuvein {
namespace {

constexpr size_t kMostPythonFrames = 64;
constexpr size_t kMostSites = 1 << 16;  // remembered

// Never destroyed: the program may launch to its very end.
struct Known {
  std::mutex mutex;
  HostFrames host;
  std::unordered_map<uint64_t, HostFrame> frames;  // by address
  std::unordered_map<std::string, std::shared_ptr<const CallSite>> sites;
  uint64_t unloads = 0;
};

Known& known() {
  static Known* instance = new Known;
  return *instance;
}

Operators& operators() {
  static Operators* instance = new Operators;
  return *instance;
}

// Frames of Python code that tells cuvein what the program does, and of the library code that calls it.
size_t hook_frames(const std::vector<PythonFrame>& frames) {
  size_t count = 0;
  for (const PythonFrame& frame : frames) {
    const bool own = frame.file.find("/cuvein/inprocess/") != std::string::npos;
    if (!own && frame.function.find("fire_callbacks") == std::string::npos) break;
    ++count;
  }
  return count;
}

std::string spelled(const std::vector<PythonFrame>& frames) {
  nlohmann::json list = nlohmann::json::array();
  for (const PythonFrame& frame : frames)
    list.push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}});
  return text(list);
}

void add_to_key(const std::vector<PythonFrame>& frames, std::string* key) {
  for (const PythonFrame& frame : frames)
    key->append(frame.file)
        .append(1, '\0')
        .append(frame.function)
        .append(1, '\0')
        .append(reinterpret_cast<const char*>(&frame.line), sizeof frame.line);
}

// Of each call the calls around it, outwards to the end of the stack.
std::vector<uint64_t> hashes(const std::vector<uint64_t>& addresses) {
  constexpr uint64_t kPrime = 0x100000001b3;  // of FNV-1a
  std::vector<uint64_t> result(addresses.size());
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = addresses.size(); i-- > 0;) {
    result[i] = hash;
    hash = (hash ^ addresses[i]) * kPrime;
  }
  return result;
}

// Operators have a namespace.
bool is_node(const std::string& name) { return !name.empty() && name.find("::") == std::string::npos; }

std::shared_ptr<const CallSite> make(const std::vector<uint64_t>& addresses,
                                     const std::vector<PythonFrame>& python,
                                     const std::vector<std::string>& ranges, const std::string& missing,
                                     bool more, Inner inner, Known* data) {
  auto site = std::make_shared<CallSite>();
  site->python = spelled(python);
  site->has_python = !python.empty();

  nlohmann::json list = nlohmann::json::array();
  std::vector<std::string> names;
  const std::vector<uint64_t> outwards = hashes(addresses);
  bool outside = false;  // of what is left out
  for (size_t i = 0; i < addresses.size(); ++i) {
    const uint64_t address = addresses[i];
    const auto [found, added] = data->frames.try_emplace(address);
    HostFrame& frame = found->second;
    if (added) frame = data->host.frame(address);
    if (!outside && frame.module >= 0) {
      outside = !is_driver(data->host.module(frame.module).path);
    }
    if (!outside) continue;
    std::string name = operators().of(frame.symbol);
    if (site->node.empty() && is_node(name)) site->node = name;
    if (!name.empty()) {
      if (names.empty() || names.back() != name) {
        names.push_back(std::move(name));
        site->around.emplace_back();
      }
      // It dispatches to itself again, for another backend: the outermost call counts.
      site->around.back() = outwards[i];
    }
    if (inner == Inner::kHook) continue;
    list.push_back({{"module", frame.module >= 0 ? nlohmann::json(frame.module) : nlohmann::json()},
                    {"offset", frame.offset},
                    {"symbol", frame.symbol.empty() ? nlohmann::json() : nlohmann::json(frame.symbol)}});
    if (frame.module >= 0) site->last_module = std::max(site->last_module, frame.module);
  }
  site->native = text(list);
  std::reverse(names.begin(), names.end());
  std::reverse(site->around.begin(), site->around.end());
  site->operators = std::move(names);
  site->ranges = text(ranges);
  std::string note = missing;
  if (more) note += std::string(note.empty() ? "" : "; ") + "the outermost calls are not listed";
  if (!note.empty()) site->note = text(note);
  return site;
}

// That of the calling thread without regard to a backward pass, and by what it is known.
std::shared_ptr<const CallSite> found_site(Inner inner, std::string* key) {
  std::string missing;
  std::vector<PythonFrame> python = python_frames(kMostPythonFrames, &missing);
  if (inner == Inner::kHook)
    python.erase(python.begin(), python.begin() + static_cast<std::ptrdiff_t>(hook_frames(python)));
  const std::vector<std::string> ranges = pushed_ranges();
  bool more = false;
  const std::vector<uint64_t> addresses = HostFrames::addresses(&more);

  key->assign(reinterpret_cast<const char*>(addresses.data()), addresses.size() * sizeof(uint64_t));
  add_to_key(python, key);
  for (const std::string& range : ranges) key->append(1, '\1').append(range).append(1, '\0');

  Known& data = known();
  std::lock_guard<std::mutex> lock(data.mutex);
  const uint64_t unloads = HostFrames::unloads();
  if (unloads != data.unloads || data.sites.size() >= kMostSites) {
    data.unloads = unloads;
    data.frames.clear();
    data.sites.clear();
  }
  std::shared_ptr<const CallSite>& site = data.sites[*key];
  if (!site) site = make(addresses, python, ranges, missing, more, inner, &data);
  return site;
}

}  // namespace

std::shared_ptr<const CallSite> call_site(Inner inner) {
  std::string key;
  const std::shared_ptr<const CallSite> result = found_site(inner, &key);
  const Gradient gradient = gradient_in_progress(*result, inner);
  notice(result);
  if (!gradient.forward && !gradient.caller) return result;

  // What these point to lives as long as the site does.
  for (const CallSite* other : {gradient.forward.get(), gradient.caller.get()})
    key.append(reinterpret_cast<const char*>(&other), sizeof other);
  Known& data = known();
  std::lock_guard<std::mutex> lock(data.mutex);
  std::shared_ptr<const CallSite>& site = data.sites[key];
  if (!site) {
    auto made = std::make_shared<CallSite>(*result);
    made->forward = gradient.forward;
    made->caller = gradient.caller;
    site = std::move(made);
  }
  return site;
}

std::string operator_since(const CallSite& earlier) {
  std::string key;
  const std::shared_ptr<const CallSite> now = found_site(Inner::kHook, &key);
  std::string result;
  if (earlier.python != now->python) return result;
  const size_t most = std::min(earlier.operators.size(), now->operators.size());
  for (size_t i = 0; i < most; ++i) {
    if (earlier.operators[i] != now->operators[i] || earlier.around[i] != now->around[i]) break;
    result = now->operators[i];
  }
  return result;
}

std::shared_ptr<const CallSite> call_site(const std::vector<PythonFrame>& python) {
  std::string key(1, '\2');
  add_to_key(python, &key);
  Known& data = known();
  std::lock_guard<std::mutex> lock(data.mutex);
  std::shared_ptr<const CallSite>& site = data.sites[key];
  if (!site) {
    auto made = std::make_shared<CallSite>();
    made->python = spelled(python);
    made->has_python = !python.empty();
    site = std::move(made);
  }
  return site;
}

void name_operators(const std::string& names) { operators().learn(names); }

int CallSiteTable::add(const std::shared_ptr<const CallSite>& site) {
  if (!site) return -1;
  const auto [number, added] = numbers_.try_emplace(site.get(), static_cast<int>(sites_.size()));
  const int result = number->second;
  if (added) {
    sites_.push_back(site);
    add(site->forward);
    add(site->caller);
  }
  return result;
}

std::string CallSiteTable::json() const {
  std::string result = "\"sites\":[";
  int last_module = -1;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const CallSite& site = *sites_[i];
    result += (i != 0 ? ",{\"python\":" : "{\"python\":") + site.python + ",\"native\":" + site.native +
              ",\"ranges\":" + site.ranges + ",\"operators\":" + text(site.operators) +
              ",\"note\":" + site.note;
    for (const auto& [key, other] : {std::pair("forward", &site.forward), std::pair("caller", &site.caller)})
      if (*other) result += ",\"" + std::string(key) + "\":" + std::to_string(numbers_.at(other->get()));
    result += "}";
    last_module = std::max(last_module, site.last_module);
  }
  nlohmann::json modules = nlohmann::json::array();
  Known& data = known();
  std::lock_guard<std::mutex> lock(data.mutex);
  for (int number = 0; number <= last_module; ++number) {
    const HostModule& module = data.host.module(number);
    modules.push_back(
        {{"path", module.path},
         {"build_id", module.build_id.empty() ? nlohmann::json() : nlohmann::json(module.build_id)}});
  }
  return result + "],\"host_modules\":" + text(modules);
}

}  // namespace cuvein
