#include "monitor/library.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace cuvein {
namespace {

constexpr int kReturn = 0xc3;  // x86-64

struct Search {
  uint64_t address;
  std::vector<std::pair<char*, size_t>>* code;
};

int visit(dl_phdr_info* library, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const auto segment_start = [&](const ElfW(Phdr) & header) { return library->dlpi_addr + header.p_vaddr; };
  bool holds = false;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = library->dlpi_phdr[i];
    holds = holds || (header.p_type == PT_LOAD && search->address >= segment_start(header) &&
                      search->address - segment_start(header) < header.p_memsz);
  }
  if (!holds) return 0;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = library->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || (header.p_flags & PF_W)) continue;
    const uint64_t start = segment_start(header) / page * page;
    const uint64_t end = (segment_start(header) + header.p_memsz + page - 1) / page * page;
    search->code->emplace_back(reinterpret_cast<char*>(start), end - start);
  }
  return 1;
}

}  // namespace

Library::Library(const void* address) {
#ifdef __x86_64__
  Search search{reinterpret_cast<uint64_t>(address), &code_};
  dl_iterate_phdr(visit, &search);
#endif
}

void Library::silence() const {
  for (const auto& [start, size] : code_) {
    if (mprotect(start, size, PROT_READ | PROT_WRITE) != 0) continue;
    std::memset(start, kReturn, size);
    mprotect(start, size, PROT_READ | PROT_EXEC);
  }
}

}  // namespace cuvein
