// children [PROGRAM]: forks a child that uses the GPU, one that becomes PROGRAM, and then uses the GPU
// itself. The folder of each process holds its own profiles. No CUDA call comes before the fork, as CUDA
// demands.
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

__global__ void in_child(int* words) {
  words[threadIdx.x] = 1;  // @child
}

__global__ void in_parent(int* words) {
  words[threadIdx.x] = 2;  // @parent
}

int use(void (*kernel)(int*), int value) {
  Array<int> words(32);
  kernel<<<1, 32>>>(words.get());
  CHECK_KERNEL();
  return agree("words", words.host(), std::vector<int>(32, value)) ? 0 : 1;
}

int main(int argc, char** argv) {
  const pid_t first = fork();
  if (first == 0) return use(in_child, 1);
  const pid_t second = fork();
  if (second == 0) {
    if (argc < 2) return 0;
    execv(argv[1], argv + 1);
    return 127;
  }
  int status = 0;
  bool good = true;
  for (const pid_t child : {first, second}) {
    good = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 && good;
  }
  return finish(use(in_parent, 2) == 0 && good);
}
