// Asynchronous copies of 16 bytes that bring less from global memory and fill the rest with zeros. One warp.
//   zero_fill   lanes 0 to 7 bring 16 bytes, the others none: global read 8 lanes, 128 bytes (4 sectors)
//   part_fill   lanes 8 to 15 bring the first 8 bytes: global read 16 lanes, 192 bytes (8 sectors)
// Either way the shared write has 32 lanes and 512 bytes, cold; the read finds what the lane beside copied:
// warp_diff_inst 512.
#include <cuda_pipeline.h>

#include "common.h"

__device__ void copy(const int4* input, int4* output, int bytes) {
  __shared__ int4 tile[32];
  const int lane = threadIdx.x;
  const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(&tile[lane]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"  // @copy
               :
               : "r"(target), "l"(input + lane), "r"(bytes)  // @copy
               : "memory");
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  output[lane] = tile[lane ^ 1];  // @read
}

__global__ void zero_fill(const int4* input, int4* output) { copy(input, output, threadIdx.x < 8 ? 16 : 0); }

__global__ void part_fill(const int4* input, int4* output) {
  copy(input, output, threadIdx.x < 8 ? 16 : threadIdx.x < 16 ? 8 : 0);
}

int main() {
  std::vector<int> values(128), whole(128), part(128);
  for (int i = 0; i < 128; ++i) values[i] = i + 1;
  for (int i = 0; i < 128; ++i) {
    const int from = i ^ 4, lane = from / 4;
    whole[i] = lane < 8 ? values[from] : 0;
    part[i] = lane < 8 || (lane < 16 && from % 4 < 2) ? values[from] : 0;
  }
  Array<int> input(values), first(128), second(128);
  const int4* from = reinterpret_cast<const int4*>(input.get());
  zero_fill<<<1, 32>>>(from, reinterpret_cast<int4*>(first.get()));
  part_fill<<<1, 32>>>(from, reinterpret_cast<int4*>(second.get()));
  CHECK_KERNEL();
  return finish(agree("whole", first.host(), whole) && agree("part", second.host(), part));
}
