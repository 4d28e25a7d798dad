// All lanes of a warp read one 16-byte word that lane 3 wrote: 16 bytes come from the write (warp_diff_inst),
// 496 from the same instruction.
#include "common.h"

__global__ void wide_broadcast(float4* word, float4* output) {
  if (threadIdx.x == 3) *word = make_float4(1, 2, 3, 4);  // @write
  __syncwarp();
  float4 value;
  asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"           // @read
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)  // @read
               : "l"(word)                                                   // @read
               : "memory");
  output[threadIdx.x] = value;  // @store
}

int main() {
  Array<float> word(4), output(128);
  wide_broadcast<<<1, 32>>>(reinterpret_cast<float4*>(word.get()), reinterpret_cast<float4*>(output.get()));
  CHECK_KERNEL();
  std::vector<float> expected(128);
  for (int i = 0; i < 128; ++i) expected[i] = static_cast<float>(i % 4 + 1);
  return finish(agree("output", output.host(), expected));
}
