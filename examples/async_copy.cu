// A double-buffered pipeline of asynchronous copies (cp.async, sm_80 and later): the next tile is on its way
// while this one is used.
//
//   async_copy [blocks [tiles]]     G blocks of 128 threads, S >= 2 tiles of 128 x 16 bytes each
//
// An asynchronous copy is two accesses: a global read at its PC and a shared write at PC + 1.
//
//   line        access          bytes by label
//   copy_first  input, read     cold 2048 G
//               tile, write     cold 2048 G
//   copy_next   input, read     cold 2048 G (S - 1)
//               tile, write     the second tile cold 2048 G. Later the thread before was the last reader
//                               of each slot: warp_diff_inst 31/32, block 1/32 of 2048 G (S - 2) (from
//                               neighbour)
//   neighbour   tile, read      the slot that the thread after wrote: warp_diff_inst 31/32, block 1/32 of
//                               2048 G S (2048 G from copy_first, the rest from copy_next)
//   store       output, write   cold 2048 G S
//
// 16-byte accesses: 16 sectors; 4 groups of 8 lanes, 1 wavefront each, ideal 4.
#include <cuda_pipeline.h>

#include "common.h"

constexpr int kThreads = 128;

__global__ void pipeline(const float4* input, float4* output, int tiles) {
  __shared__ float4 tile[2][kThreads];
  const size_t first = static_cast<size_t>(blockIdx.x) * tiles * kThreads + threadIdx.x;
  __pipeline_memcpy_async(&tile[0][threadIdx.x], input + first, sizeof(float4));  // @copy_first
  __pipeline_commit();
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) {
      const float4* next = input + first + static_cast<size_t>(i + 1) * kThreads;
      __pipeline_memcpy_async(&tile[(i + 1) % 2][threadIdx.x], next, sizeof(float4));  // @copy_next
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const float4 value = tile[i % 2][(threadIdx.x + 1) % kThreads];  // @neighbour
    const float4 doubled = make_float4(2 * value.x, 2 * value.y, 2 * value.z, 2 * value.w);
    output[first + static_cast<size_t>(i) * kThreads] = doubled;  // @store
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 8);
  const int tiles = arguments.number("tiles", 8);
  arguments.done();

  const size_t size = static_cast<size_t>(blocks) * tiles * kThreads * 4;
  std::vector<float> values(size), expected(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i % 4096);
  for (size_t i = 0; i < size; ++i) {
    const size_t tile = i / (kThreads * 4), place = i % (kThreads * 4);
    expected[i] = 2 * values[tile * kThreads * 4 + (place + 4) % (kThreads * 4)];
  }
  Array<float> input(values), output(size);
  pipeline<<<blocks, kThreads>>>(reinterpret_cast<const float4*>(input.get()),
                                 reinterpret_cast<float4*>(output.get()), tiles);
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
