#include "monitor/nvtx.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "monitor/config.h"

namespace cuvein {
namespace {

struct Domain {
  std::string name;
};

struct Registered {
  std::string text;
};

// Never destroyed: the program's last ranges may end after static destructors ran.
struct State {
  std::mutex mutex;
  std::set<std::string> names;
  std::unordered_set<nvtxRangeId_t> started;  // included ones that are open
  std::atomic<uint64_t> open{0};              // their number
  nvtxRangeId_t next = 1;
};

State& state() {
  static State* instance = new State;
  return *instance;
}

struct Pushed {
  nvtxDomainHandle_t domain;
  std::string name;
  bool included;
};

// The ranges this thread pushed, of all domains in order; their number by domain.
thread_local std::vector<Pushed> pushed;
thread_local std::unordered_map<nvtxDomainHandle_t, int> depths;
thread_local uint64_t pushed_included = 0;

std::string narrow(const wchar_t* text) {
  std::string result;
  for (; text != nullptr && *text != 0; ++text) result += *text < 128 ? static_cast<char>(*text) : '?';
  return result;
}

std::string message(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return "";
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return attributes->message.ascii ? attributes->message.ascii : "";
    case NVTX_MESSAGE_TYPE_UNICODE:
      return narrow(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto* string = reinterpret_cast<const Registered*>(attributes->message.registered);
      return string ? string->text : "";
    }
    default:
      return "";
  }
}

bool included(nvtxDomainHandle_t handle, const std::string& name) {
  const auto* domain = reinterpret_cast<const Domain*>(handle);
  State& s = state();
  return s.names.count(name) != 0 || (domain != nullptr && s.names.count(domain->name + "@" + name) != 0);
}

int push(nvtxDomainHandle_t domain, std::string name) {
  const bool counts = included(domain, name);
  pushed_included += counts;
  pushed.push_back({domain, std::move(name), counts});
  return depths[domain]++;
}

int pop(nvtxDomainHandle_t domain) {
  const auto last = std::find_if(pushed.rbegin(), pushed.rend(),
                                 [domain](const Pushed& range) { return range.domain == domain; });
  if (last == pushed.rend()) return -1;
  pushed_included -= last->included;
  pushed.erase(std::next(last).base());
  return --depths[domain];
}

nvtxRangeId_t start(nvtxDomainHandle_t domain, const std::string& name) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  const nvtxRangeId_t id = s.next++;
  if (included(domain, name)) {
    s.started.insert(id);
    ++s.open;
  }
  return id;
}

void end(nvtxRangeId_t id) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.open -= s.started.erase(id);
}

int push_ex(const nvtxEventAttributes_t* attributes) { return push(nullptr, message(attributes)); }
int push_a(const char* name) { return push(nullptr, name ? name : ""); }
int push_w(const wchar_t* name) { return push(nullptr, narrow(name)); }
int pop_default() { return pop(nullptr); }
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* attributes) {
  return start(nullptr, message(attributes));
}
nvtxRangeId_t start_a(const char* name) { return start(nullptr, name ? name : ""); }
nvtxRangeId_t start_w(const wchar_t* name) { return start(nullptr, narrow(name)); }
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return push(domain, message(attributes));
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return start(domain, message(attributes));
}
void domain_end(nvtxDomainHandle_t, nvtxRangeId_t id) { end(id); }

// Domains and strings are few and may be used to the end of the program: they are kept.
nvtxDomainHandle_t create_a(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new Domain{name ? name : ""});
}
nvtxDomainHandle_t create_w(const wchar_t* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new Domain{narrow(name)});
}
nvtxStringHandle_t register_a(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(new Registered{text ? text : ""});
}
nvtxStringHandle_t register_w(nvtxDomainHandle_t, const wchar_t* text) {
  return reinterpret_cast<nvtxStringHandle_t>(new Registered{narrow(text)});
}

template <typename Function>
void hook(NvtxFunctionTable table, unsigned size, unsigned id, Function function) {
  if (id < size && table[id] != nullptr) *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

void include_ranges(const std::vector<std::string>& names) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (std::string name : names) {
    if (!name.empty() && name.back() == '/') name.pop_back();  // ncu's mark of a push/pop range
    s.names.insert(name);
  }
}

bool in_included_range() { return pushed_included != 0 || state().open != 0; }

std::vector<std::string> pushed_ranges() {
  std::vector<std::string> names;
  names.reserve(pushed.size());
  for (const Pushed& range : pushed) {
    const auto* domain = reinterpret_cast<const Domain*>(range.domain);
    names.push_back(domain != nullptr ? domain->name + "@" + range.name : range.name);
  }
  return names;
}

}  // namespace cuvein

// Entry point that NVTX calls at the program's first use of it (NVTX_INJECTION64_PATH), CUDA or not.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  using namespace cuvein;
  const std::optional<Config> config = read_config();
  if (!config || (config->nvtx_include.empty() && !config->call_sites)) return 1;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr) return 1;
  include_ranges(config->nvtx_include);
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) {
    hook(table, size, NVTX_CBID_CORE_RangePushEx, push_ex);
    hook(table, size, NVTX_CBID_CORE_RangePushA, push_a);
    hook(table, size, NVTX_CBID_CORE_RangePushW, push_w);
    hook(table, size, NVTX_CBID_CORE_RangePop, pop_default);
    hook(table, size, NVTX_CBID_CORE_RangeStartEx, start_ex);
    hook(table, size, NVTX_CBID_CORE_RangeStartA, start_a);
    hook(table, size, NVTX_CBID_CORE_RangeStartW, start_w);
    hook(table, size, NVTX_CBID_CORE_RangeEnd, end);
  }
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) {
    hook(table, size, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
    hook(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
    hook(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
    hook(table, size, NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
    hook(table, size, NVTX_CBID_CORE2_DomainCreateA, create_a);
    hook(table, size, NVTX_CBID_CORE2_DomainCreateW, create_w);
    hook(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_a);
    hook(table, size, NVTX_CBID_CORE2_DomainRegisterStringW, register_w);
  }
  return 1;
}
