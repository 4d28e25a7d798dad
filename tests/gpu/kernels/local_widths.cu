// Local memory in accesses of 1 to 16 bytes, through a function that is called, in blocks that come and go:
// each thread writes 16 bytes of its own as one word, reads them as bytes and as pairs of words. For n
// threads: write cold 16 n, bytes thread 4 n, pairs thread 16 n; 16 sectors for a warp's words, 4 for its
// bytes.
#include "common.h"

__device__ __noinline__ int sum_of(const volatile unsigned char* bytes, int count) {
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) sum += bytes[i];  // @bytes
  return sum;
}

__global__ void local_widths(const int4* input, int* output, int count) {
  union {
    int4 words;
    unsigned char bytes[16];
    int2 pairs[2];
  } kept;
  volatile int4& words = kept.words;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int4 value = input[i];  // @load
  asm volatile("" ::: "memory");
  *reinterpret_cast<int4*>(&kept) = value;  // @write
  (void)words;
  int sum = sum_of(kept.bytes, count);
#pragma unroll 1
  for (int k = 0; k < 2; ++k) {
    const volatile int2* pair = &kept.pairs[(k + count) & 1];
    sum += pair->x;  // @first
    sum += pair->y;  // @second
  }
  output[i] = sum;  // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 1000);
  arguments.done();

  const size_t threads = static_cast<size_t>(blocks) * 96;
  std::vector<int4> input(threads);
  std::vector<int> expected(threads);
  for (size_t t = 0; t < threads; ++t) {
    const int value = static_cast<int>(t % 50);
    input[t] = make_int4(value, value + 1, value + 2, value + 3);
    expected[t] = value + 4 * value + 6;
  }
  Array<int4> given(input);
  Array<int> output(threads);
  local_widths<<<blocks, 96>>>(given.get(), output.get(), 4);
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
