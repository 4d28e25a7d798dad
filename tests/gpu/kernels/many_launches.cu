// many_launches FILE [COUNT]: as many launches of a tiny kernel, one after another in a stream. Writes to
// FILE the milliseconds from the first launch to the end of the last, and the device memory in use beyond
// that before the first, in MiB, after a tenth of them and after all.
#include <chrono>

#include "common.h"

__global__ void tiny(int* words) {
  words[threadIdx.x] += 1;  // @touch
}

size_t used() {
  size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  return total - free;
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const std::string path = arguments.word("/dev/stderr");
  const int count = arguments.number("count", 10000, 10);
  arguments.done();

  Array<int> words(std::vector<int>(32, 0));
  const size_t before = used();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count / 10; ++i) tiny<<<1, 32>>>(words.get());
  CHECK_KERNEL();
  const auto pause = std::chrono::steady_clock::now();
  const size_t early = used();
  const auto resume = std::chrono::steady_clock::now();
  for (int i = count / 10; i < count; ++i) tiny<<<1, 32>>>(words.get());
  CHECK_KERNEL();
  const auto end = std::chrono::steady_clock::now();
  const size_t late = used();
  const std::chrono::duration<double, std::milli> spent = (end - resume) + (pause - start);
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return 1;
  std::fprintf(file, "%.3f %zu %zu\n", spent.count(), (early - before) >> 20, (late - before) >> 20);
  std::fclose(file);
  return finish(agree("words", words.host(), std::vector<int>(32, count)));
}
