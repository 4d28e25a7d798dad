// A byte store at p + 1, then a 4-byte load at p by a thread of another warp: one byte meets the store
// (block), three are cold. Once in global memory, once in shared memory.
#include "common.h"

__global__ void mixed_widths(unsigned char* bytes, unsigned* output) {
  __shared__ unsigned words[1];
  volatile unsigned char* near = reinterpret_cast<volatile unsigned char*>(words);
  volatile unsigned char* far = bytes;
  if (threadIdx.x == 0) {
    far[1] = 7;   // @store_global
    near[1] = 9;  // @store_shared
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    const unsigned from_far = *reinterpret_cast<volatile unsigned*>(bytes);  // @load_global
    const unsigned from_near = *static_cast<volatile unsigned*>(words);      // @load_shared
    *output = (from_far >> 8 & 255) * 256 + (from_near >> 8 & 255);          // @store
  }
}

int main() {
  Array<unsigned char> bytes(4);
  Array<unsigned> output(1);
  mixed_widths<<<1, 64>>>(bytes.get(), output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), std::vector<unsigned>{7 * 256 + 9}));
}
