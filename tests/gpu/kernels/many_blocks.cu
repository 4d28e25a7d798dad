// many_blocks BLOCKS: block b writes slot b mod 2^22. 22 million blocks of 256 threads are more than 2^32
// threads. First writes are cold, all others meet another block: grid, never thread.
#include "common.h"

constexpr unsigned kSlots = 1u << 22;

__global__ void many_blocks(unsigned* slots) {
  if (threadIdx.x != 0) return;
  slots[blockIdx.x & (kSlots - 1)] = blockIdx.x & (kSlots - 1);  // @write
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 22000000);
  arguments.done();

  Array<unsigned> slots(std::vector<unsigned>(kSlots, 0u));
  many_blocks<<<blocks, 256>>>(slots.get());
  CHECK_KERNEL();
  std::vector<unsigned> expected(kSlots, 0u);
  for (unsigned i = 0; i < kSlots && i < static_cast<unsigned>(blocks); ++i) expected[i] = i;
  return finish(agree("slots", slots.host(), expected));
}
