#include "monitor/cubin.h"

#include <elf.h>

#include <cstring>

namespace cuvein {
namespace {

constexpr unsigned char kCudaEntry = 0x10;  // in st_other: the function is a kernel
constexpr const char kReservedSection[] = ".nv.shared.reserved.0";
constexpr uint64_t kReservedShared = 1024;
constexpr const char kSharedPrefix[] = ".nv.shared.";
constexpr const char kInfoSection[] = ".nv.info";
constexpr uint8_t kSizedValue = 4;  // an attribute with a value of a length of its own
constexpr uint8_t kMinStackSize = 0x12;

class Image {
 public:
  Image(const void* data, size_t size) : data_(static_cast<const char*>(data)), size_(size) {}

  template <typename T>
  bool read(uint64_t offset, T* value) const {
    if (offset > size_ || size_ - offset < sizeof(T)) return false;
    std::memcpy(value, data_ + offset, sizeof(T));
    return true;
  }

  std::string string(const Elf64_Shdr& table, uint64_t index) const {
    if (index >= table.sh_size || table.sh_offset > size_ || table.sh_size > size_ - table.sh_offset)
      return "";
    const char* start = data_ + table.sh_offset + index;
    return std::string(start, strnlen(start, table.sh_size - index));
  }

 private:
  const char* data_;
  size_t size_;
};

void read_symbols(const Image& image, const Elf64_Shdr& table, const Elf64_Shdr& strings, Cubin* cubin) {
  for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    Elf64_Sym symbol;
    if (!image.read(table.sh_offset + i * sizeof symbol, &symbol)) return;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_FUNC) {
      cubin->functions.push_back({image.string(strings, symbol.st_name), (symbol.st_other & kCudaEntry) != 0,
                                  symbol.st_shndx, symbol.st_value, symbol.st_size});
    } else if (type == STT_OBJECT) {
      cubin->variables.push_back({image.string(strings, symbol.st_name), symbol.st_value, symbol.st_size});
    }
  }
}

// What the compiler says of the kernels: attributes of four bytes (format, attribute, value or its length),
// some with a value behind. Symbols are given by their number.
void read_info(const Image& image, const Elf64_Shdr& info, const Elf64_Shdr& symbols,
               const Elf64_Shdr& strings, Cubin* cubin) {
  struct Attribute {
    uint8_t format, number;
    uint16_t length;
  } attribute;
  for (uint64_t at = 0; at + sizeof attribute <= info.sh_size; at += sizeof attribute) {
    if (!image.read(info.sh_offset + at, &attribute)) return;
    if (attribute.format != kSizedValue) continue;
    struct {
      uint32_t symbol, bytes;
    } stack;
    Elf64_Sym symbol;
    if (attribute.number == kMinStackSize && attribute.length == sizeof stack &&
        image.read(info.sh_offset + at + sizeof attribute, &stack) &&
        stack.symbol < symbols.sh_size / sizeof symbol &&
        image.read(symbols.sh_offset + stack.symbol * sizeof symbol, &symbol))
      cubin->stacks.emplace_back(image.string(strings, symbol.st_name), stack.bytes);
    at += attribute.length;
  }
}

}  // namespace

uint32_t Cubin::stack_of(const std::string& kernel) const {
  for (const auto& [symbol, bytes] : stacks)
    if (symbol == kernel) return bytes;
  return kUnknownStack;
}

uint64_t Cubin::static_shared_of(const std::string& kernel) const {
  for (const auto& [symbol, bytes] : static_shared) {
    if (symbol == kernel)
      return reserves_shared && bytes >= kReservedShared ? bytes - kReservedShared : bytes;
  }
  return 0;
}

Cubin parse_cubin(const void* data, size_t size) {
  Cubin cubin;
  const Image image(data, size);
  Elf64_Ehdr header;
  if (data == nullptr || !image.read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return cubin;
  }
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!image.read(header.e_shoff + i * sizeof section, &section)) return cubin;
    sections.push_back(section);
  }
  const Elf64_Shdr* symbols = nullptr;
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type == SHT_SYMTAB && section.sh_link < sections.size()) symbols = &section;
  for (const Elf64_Shdr& section : sections) {
    if (&section == symbols) {
      read_symbols(image, section, sections[section.sh_link], &cubin);
    } else if (header.e_shstrndx < sections.size()) {
      const std::string name = image.string(sections[header.e_shstrndx], section.sh_name);
      if (name == kInfoSection && symbols != nullptr) {
        read_info(image, section, *symbols, sections[symbols->sh_link], &cubin);
      } else if (name == kReservedSection) {
        cubin.reserves_shared = true;
      } else if (name.rfind(kSharedPrefix, 0) == 0) {
        cubin.static_shared.emplace_back(name.substr(sizeof kSharedPrefix - 1), section.sh_size);
      }
    }
  }
  return cubin;
}

}  // namespace cuvein
