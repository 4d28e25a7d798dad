// One warp whose lanes 0 to 15 read one allocation and 16 to 31 another, twice: first cold 128, then thread
// 128; 64 bytes in each allocation.
#include "common.h"

__global__ void two_regions(const int* left, const int* right, int* output) {
  const volatile int* place = (threadIdx.x < 16 ? left : right) + threadIdx.x;
  const int first = *place;              // @first
  const int second = *place;             // @second
  output[threadIdx.x] = first + second;  // @store
}

int main() {
  std::vector<int> values(1024), expected(32);
  for (int i = 0; i < 1024; ++i) values[i] = i;
  for (int i = 0; i < 32; ++i) expected[i] = 2 * i;
  Array<int> left(values), apart(std::vector<int>(1 << 20, 0)), right(values), output(32);
  two_regions<<<1, 32>>>(left.get(), right.get(), output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
