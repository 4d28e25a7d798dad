// early_exit BLOCKS: of a block's three warps the first ends at once, of the others lanes 16 to 31, all
// before the block's first shared access. The 32 threads that stay write a slot and, after a barrier, read
// the other warp's: block 128 bytes a block, to the last block.
#include "common.h"

__global__ void early_exit(int* failures) {
  __shared__ int slots[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0 || lane >= 16) return;
  volatile int* slot = slots;
  slot[(warp - 1) * 16 + lane] = static_cast<int>(blockIdx.x) + warp;  // @write
  __syncthreads();
  const int value = slot[(2 - warp) * 16 + lane];  // @read
  if (value != static_cast<int>(blockIdx.x) + 3 - warp) atomicAdd(failures, 1);
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 100000);
  arguments.done();

  Array<int> failures(std::vector<int>(1, 0));
  early_exit<<<blocks, 96>>>(failures.get());
  CHECK_KERNEL();
  return finish(agree("failures", failures.host(), std::vector<int>(1, 0)));
}
