// What the monitor needs of a module's machine code: its functions and variables, from the ELF symbol table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cuvein {

struct CubinFunction {
  std::string symbol;
  bool kernel;
  uint32_t section;
  uint64_t offset;  // in its section
  uint64_t size;
};

struct CubinVariable {
  std::string symbol;
  uint64_t offset;  // in its section
  uint64_t size;
};

constexpr uint32_t kUnknownStack = ~uint32_t{0};

struct Cubin {
  std::vector<CubinFunction> functions;
  std::vector<CubinVariable> variables;
  std::vector<std::pair<std::string, uint64_t>> static_shared;  // kernel symbol, bytes
  bool reserves_shared = false;                          // the first bytes of those belong to the system
  std::vector<std::pair<std::string, uint32_t>> stacks;  // kernel symbol, bytes of local memory a thread

  uint64_t static_shared_of(const std::string& kernel) const;

  // Local memory of a thread, with that of the functions the kernel calls; kUnknownStack when the compiler
  // could not tell.
  uint32_t stack_of(const std::string& kernel) const;
};

// Empty for what is not a 64-bit ELF file; damaged parts are left out.
Cubin parse_cubin(const void* image, size_t size);

}  // namespace cuvein
