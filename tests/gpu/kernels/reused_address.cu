// State must not leak. Launches 1 and 2 read the same 512 words: all cold both times. Then the words are
// freed and allocated again, as a rule at the same address: launch 3 is all cold too. device_heap does it
// inside one launch: the 64 bytes that one thread writes, frees and allocates again are cold when they are
// read.
#include "common.h"

__global__ void reused_address(const volatile int* words, int* output) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int first = words[i];   // @first
  const int second = words[i];  // @second
  output[i] = first + second;   // @store
}

__global__ void device_heap(int* same) {
  volatile int* before = static_cast<volatile int*>(malloc(64));
  if (before == nullptr) return;
  for (int i = 0; i < 16; ++i) before[i] = i;  // @write
  free(const_cast<int*>(before));
  volatile int* after = static_cast<volatile int*>(malloc(64));
  if (after == nullptr) return;
  int sum = 0;
  for (int i = 0; i < 16; ++i) sum += after[i];  // @read
  free(const_cast<int*>(after));
  *same = before == after ? 1 : sum == -1 ? 2 : 0;
}

int main() {
  Array<int> output(512), same(std::vector<int>(1, -1));
  std::vector<int> ones(512, 1), twos(512, 2);
  bool good = true;
  {
    Array<int> words(ones);
    reused_address<<<2, 256>>>(words.get(), output.get());
    reused_address<<<2, 256>>>(words.get(), output.get());
    CHECK_KERNEL();
    good = agree("output", output.host(), twos);
  }
  Array<int> words(ones);
  reused_address<<<2, 256>>>(words.get(), output.get());
  device_heap<<<1, 1>>>(same.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), twos) && same.host()[0] >= 0 && good);
}
