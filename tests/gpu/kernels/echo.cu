// echo STATUS MEGABYTES ARGUMENT...: launches a kernel, writes each argument on a line of its own, as many MB
// of text as asked for, and ends with the status asked for.
#include "common.h"

__global__ void touch(int* word) {
  *word = 1;  // @write
}

int main(int argc, char** argv) {
  int* word = nullptr;
  CHECK(cudaMalloc(&word, sizeof(int)));
  touch<<<1, 1>>>(word);
  CHECK_KERNEL();
  for (int i = 3; i < argc; ++i) std::printf("%s\n", argv[i]);
  const std::string line = std::string(99, 'x') + "\n";
  const long lines = argc > 2 ? std::atol(argv[2]) * 10000 : 0;
  for (long i = 0; i < lines; ++i) std::fputs(line.c_str(), stdout);
  std::fprintf(stderr, "to stderr\n");
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
