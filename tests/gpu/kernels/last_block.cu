// last_block FILE [ROWS [COLUMNS]]: ROWS warps (a multiple of 4), in blocks of four, each read the same
// COLUMNS words (a multiple of 32) from the first to the last. Before each read a lane leaves its block's
// number at the word and looks whose was there, so the program itself knows whether its block or another one
// was there last. Writes to FILE how many of its exchanges met nobody, the own block and another one. How the
// warps take turns is the schedule's choice, and what a tool says about the words must be the choice that was
// made.
#include "common.h"

__global__ void last_block(const volatile int* words, int* visitors, unsigned long long* counts, int* output,
                           int columns) {
  unsigned nobody = 0, own = 0, other = 0;
  int sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < columns; i += 32) {
    const int before = atomicExch(visitors + i, static_cast<int>(blockIdx.x) + 1);  // @exchange
    sum += words[i];                                                                // @read
    nobody += before == 0;
    own += before == static_cast<int>(blockIdx.x) + 1;
    other += before != 0 && before != static_cast<int>(blockIdx.x) + 1;
  }
  output[(blockIdx.x * blockDim.y + threadIdx.y) * 32 + threadIdx.x] = sum;  // @store
  atomicAdd(counts, nobody);                                                 // @count
  atomicAdd(counts + 1, own);                                                // @count
  atomicAdd(counts + 2, other);                                              // @count
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const std::string path = arguments.word("/dev/stderr");
  const int rows = arguments.number("rows", 16, 4);
  const int columns = arguments.number("columns", 512, 32);
  arguments.done();

  Array<int> words(std::vector<int>(columns, 1)), visitors(std::vector<int>(columns, 0));
  Array<int> output(static_cast<size_t>(rows) * 32);
  Array<unsigned long long> counts(std::vector<unsigned long long>(3, 0));
  last_block<<<rows / 4, dim3(32, 4)>>>(words.get(), visitors.get(), counts.get(), output.get(), columns);
  CHECK_KERNEL();
  const std::vector<unsigned long long> found = counts.host();
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return 1;
  std::fprintf(file, "%llu %llu %llu\n", found[0], found[1], found[2]);
  std::fclose(file);
  return finish(
      agree("output", output.host(), std::vector<int>(static_cast<size_t>(rows) * 32, columns / 32)));
}
