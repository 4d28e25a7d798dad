#include "monitor/host_frames.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cuvein {
namespace {

constexpr int kFramePointer = 6;  // its number in DWARF on x86-64

struct Call {
  uint64_t address;        // of the instruction to return to, in what called
  uint64_t stack;          // where the frame that was called begins: the address lies below
  uint64_t frame_pointer;  // of what called
  bool interrupted;        // not called: a signal came
};

// Where the calling thread's stack ends.
uint64_t stack_end() {
  pthread_attr_t attributes;
  void* start = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  pthread_attr_getstack(&attributes, &start, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uint64_t>(start) + size;
}

struct Calls {
  std::array<Call, HostFrames::kMost> list;
  size_t count;
};

// To find out how each function on the stack has saved what its caller needs takes most of the time. So a
// walk ends where it meets a call that the thread's last walk had met too, if all return addresses outside of
// it are still in their places.
struct Walk {
  Calls calls;
  Calls last;    // by address of the stack; none: the walk did not reach the end
  size_t next;   // in last
  uint64_t end;  // of the stack
  bool more;
};

// The calls of the last walk from the next one on are still under way.
bool under_way(const Walk& walk) {
  uint64_t inside = walk.last.list[walk.next].stack;
  for (size_t i = walk.next; i < walk.last.count; ++i) {
    const Call& call = walk.last.list[i];
    if (call.interrupted || call.stack < inside || call.stack > walk.end ||
        call.stack % sizeof(uint64_t) != 0)
      return false;
    uint64_t address;
    std::memcpy(&address, reinterpret_cast<const void*>(call.stack - sizeof address), sizeof address);
    if (address != call.address) return false;
    inside = call.stack;
  }
  return true;
}

// Whether the walk meets the call of the last one that it looks at.
bool meets(const Walk& walk, const Call& call) {
  const Call& met = walk.last.list[walk.next];
  return met.stack == call.stack && met.address == call.address && met.frame_pointer == call.frame_pointer &&
         walk.calls.count + walk.last.count - walk.next <= HostFrames::kMost && under_way(walk);
}

_Unwind_Reason_Code step(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  Calls& calls = walk->calls;
  const Calls& last = walk->last;
  int before = 0;
  const uint64_t address = _Unwind_GetIPInfo(context, &before);
  if (address == 0) return _URC_END_OF_STACK;
  if (calls.count == HostFrames::kMost) {
    walk->more = true;
    return _URC_END_OF_STACK;
  }
  const Call call{address, _Unwind_GetCFA(context), _Unwind_GetGR(context, kFramePointer), before != 0};
  while (walk->next < last.count && last.list[walk->next].stack < call.stack) ++walk->next;
  if (walk->next < last.count && meets(*walk, call)) {
    while (walk->next < last.count) calls.list[calls.count++] = last.list[walk->next++];
    return _URC_END_OF_STACK;
  }
  calls.list[calls.count++] = call;
  return _URC_NO_REASON;
}

struct Search {
  uint64_t address;
  uint64_t base = 0;
  std::string path;
  std::string build_id;
  bool found = false;
};

std::string build_id(const dl_phdr_info& info, const ElfW(Phdr) & segment) {
  const char* note = reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr);
  const char* const end = note + segment.p_memsz;
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const char* name = note + sizeof header;
    const char* value = name + (header.n_namesz + 3) / 4 * 4;
    const char* next = value + (header.n_descsz + 3) / 4 * 4;
    if (next > end) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      static const char digits[] = "0123456789abcdef";
      std::string hex;
      for (unsigned i = 0; i < header.n_descsz; ++i) {
        hex += digits[static_cast<unsigned char>(value[i]) >> 4];
        hex += digits[value[i] & 15];
      }
      return hex;
    }
    note = next;
  }
  return "";
}

int look(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = info->dlpi_phdr[i];
    const uint64_t first = info->dlpi_addr + segment.p_vaddr;
    inside = inside || (segment.p_type == PT_LOAD && search->address >= first &&
                        search->address - first < segment.p_memsz);
  }
  if (!inside) return 0;
  search->found = true;
  search->base = info->dlpi_addr;
  search->path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  for (int i = 0; i < info->dlpi_phnum && search->build_id.empty(); ++i)
    if (info->dlpi_phdr[i].p_type == PT_NOTE) search->build_id = build_id(*info, info->dlpi_phdr[i]);
  return 1;
}

// The program itself has no name there.
std::string executable() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

}  // namespace

std::vector<uint64_t> HostFrames::addresses(bool* more) {
  // Of a kind that needs no destructor: the thread may launch to its very end.
  thread_local Walk walk{};
  if (walk.end == 0) walk.end = stack_end();
  walk.last = walk.calls;
  if (walk.more) walk.last.count = 0;
  walk.calls.count = 0;
  walk.next = 0;
  walk.more = false;
  _Unwind_Backtrace(step, &walk);
  *more = walk.more;
  std::vector<uint64_t> addresses(walk.calls.count);
  // A return address may belong to what follows the call.
  std::transform(walk.calls.list.begin(), walk.calls.list.begin() + addresses.size(), addresses.begin(),
                 [](const Call& call) { return call.interrupted ? call.address : call.address - 1; });
  return addresses;
}

uint64_t HostFrames::unloads() {
  uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t size, void* data) {
        if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
          *static_cast<uint64_t*>(data) = info->dlpi_subs;
        return 1;
      },
      &count);
  return count;
}

HostFrame HostFrames::frame(uint64_t address) {
  HostFrame frame;
  frame.offset = address;
  Search search{address};
  dl_iterate_phdr(look, &search);
  if (!search.found) return frame;
  if (search.path.empty()) search.path = executable();
  frame.offset = address - search.base;
  for (size_t i = 0; i < modules_.size() && frame.module < 0; ++i)
    if (modules_[i]->path == search.path && modules_[i]->build_id == search.build_id)
      frame.module = static_cast<int>(i);
  if (frame.module < 0) {
    frame.module = static_cast<int>(modules_.size());
    modules_.push_back(std::make_unique<HostModule>(HostModule{search.path, search.build_id}));
  }
  Dl_info symbol;
  if (dladdr(reinterpret_cast<const void*>(address), &symbol) != 0 && symbol.dli_sname != nullptr)
    frame.symbol = symbol.dli_sname;
  return frame;
}

bool is_driver(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  for (const char* start : {"libcuvein_monitor.", "libsanitizer-public.", "libcuda."})
    if (name.compare(0, std::strlen(start), start) == 0) return true;
  return false;
}

}  // namespace cuvein
