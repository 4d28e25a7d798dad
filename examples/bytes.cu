// The same bytes touched in all widths: written singly, read as words, read as 16-byte vectors, written as
// 2-byte pairs, read as 8-byte halves. Labels are per byte, so they must not depend on any fixed unit.
//
//   bytes [blocks]         G blocks of 128 threads, 128 bytes each; a barrier after every step
//
//   line    access                       bytes by label, per block
//   single  write, 1 byte, 128 threads   cold 128
//   word    read, 4 bytes, 32 threads    this warp wrote bytes 0 to 31, this very lane byte 0:
//                                        thread 1, warp_diff_inst 31, block 96 (from single)
//   vector  read, 16 bytes, 8 threads    lane 0 meets its own word: thread 4, warp_diff_inst 124 (from word)
//   pair    write, 2 bytes, 64 threads   warp 0: thread 2, warp_diff_inst 62; warp 1: block 64 (from vector)
//   half    read, 8 bytes, 16 threads    warp 0 wrote bytes 0 to 63: thread 2, warp_diff_inst 62; warp 1
//                                        wrote the rest: block 64 (from pair)
//   store   result, write, 8 bytes       cold 128
//
// Executions per block: single 4, pair 2, the others 1. Sectors: single 1, pair 2, the others 4.
#include "common.h"

constexpr int kThreads = 128;

__global__ void bytes(unsigned char* buffer, uint2* result) {
  const int thread = threadIdx.x;
  volatile unsigned char* mine = buffer + static_cast<size_t>(blockIdx.x) * kThreads;
  mine[thread] = static_cast<unsigned char>(thread);  // @single
  __syncthreads();
  unsigned sum = 0;
  if (thread < 32) {
    sum += reinterpret_cast<volatile unsigned*>(mine)[thread];  // @word
  }
  __syncthreads();
  if (thread < 8) {
    const unsigned char* from = const_cast<const unsigned char*>(mine) + thread * 16;
    uint4 value;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"  // @vector
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(from)  // @vector
                 : "memory");
    sum += value.x + value.y + value.z + value.w;
  }
  __syncthreads();
  if (thread < 64) {
    volatile unsigned short* pairs = reinterpret_cast<volatile unsigned short*>(mine);
    pairs[thread] = static_cast<unsigned short>(sum + thread);  // @pair
  }
  __syncthreads();
  if (thread < 16) {
    const unsigned char* from = const_cast<const unsigned char*>(mine) + thread * 8;
    uint2 value;
    asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];"  // @half
                 : "=r"(value.x), "=r"(value.y)
                 : "l"(from)  // @half
                 : "memory");
    result[blockIdx.x * 16 + thread] = value;  // @store
  }
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 16);
  arguments.done();

  unsigned char text[kThreads];
  for (int i = 0; i < kThreads; ++i) text[i] = static_cast<unsigned char>(i);
  unsigned words[32];
  std::memcpy(words, text, sizeof(words));
  unsigned short pairs[64];
  for (int i = 0; i < 64; ++i) {
    unsigned sum = i < 32 ? words[i] : 0;
    if (i < 8) sum += words[4 * i] + words[4 * i + 1] + words[4 * i + 2] + words[4 * i + 3];
    pairs[i] = static_cast<unsigned short>(sum + i);
  }
  unsigned halves[32];
  std::memcpy(halves, pairs, sizeof(halves));
  std::vector<unsigned> expected;
  for (int block = 0; block < blocks; ++block) expected.insert(expected.end(), halves, halves + 32);

  Array<unsigned char> buffer(static_cast<size_t>(blocks) * kThreads);
  Array<unsigned> result(expected.size());
  bytes<<<blocks, kThreads>>>(buffer.get(), reinterpret_cast<uint2*>(result.get()));
  CHECK_KERNEL();
  return finish(agree("result", result.host(), expected));
}
