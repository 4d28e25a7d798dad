// What the GPU engine needs to know of a kernel before it runs, read from its machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuvein {

// Bit n: there is an access of 1 << n bytes.
struct CodeFacts {
  uint8_t global_sizes = 0;
  uint8_t shared_sizes = 0;
  uint8_t local_sizes = 0;
  bool barriers = false;  // of the block
  bool warp_syncs = false;
  bool copies = false;  // asynchronous ones into shared memory

  void operator|=(const CodeFacts& other);
};

// Decodes instructions of 128 bits, which all GPUs from Volta on have.
CodeFacts decode_instructions(const void* code, size_t bytes);

// Of each section of a module; empty for sections without code. Empty for what is not a 64-bit ELF file.
std::vector<CodeFacts> decode_module(const void* image, size_t size);

// log2 of the unit that divides all these accesses; 2 when there is none.
unsigned unit_shift(uint8_t sizes);

}  // namespace cuvein
