// handshake host|stream: a kernel spins until a flag is set, by the host after the launch or by a kernel in
// another stream. It must end, and with it the program; a tool that serialises launches or waits in the
// launch call never lets it.
#include <unistd.h>

#include "common.h"

__global__ void wait_for(const volatile int* flag, int* result) {
  while (*flag == 0) {
  }
  *result = *flag;  // @result
}

__global__ void set(volatile int* flag, int value) {
  *flag = value;  // @set
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const std::string who = arguments.word("host");
  arguments.done();

  Array<int> result(std::vector<int>(1, 0)), spare(1);
  cudaStream_t waiting, setting;
  CHECK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&setting, cudaStreamNonBlocking));
  // Lazy loading of a kernel synchronises: load both before one of them waits for the other.
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, wait_for));
  set<<<1, 1, 0, setting>>>(spare.get(), 1);
  CHECK(cudaStreamSynchronize(setting));

  if (who == "host") {
    int *flag = nullptr, *on_device = nullptr;
    CHECK(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
    *static_cast<volatile int*>(flag) = 0;
    CHECK(cudaHostGetDevicePointer(&on_device, flag, 0));
    wait_for<<<1, 1, 0, waiting>>>(on_device, result.get());
    CHECK(cudaGetLastError());
    usleep(50000);
    *static_cast<volatile int*>(flag) = 42;
    CHECK(cudaStreamSynchronize(waiting));
  } else {
    Array<int> flag(std::vector<int>(1, 0));
    wait_for<<<1, 1, 0, waiting>>>(flag.get(), result.get());
    CHECK(cudaGetLastError());
    usleep(50000);
    set<<<1, 1, 0, setting>>>(flag.get(), 42);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(waiting));
  }
  return finish(agree("result", result.host(), std::vector<int>(1, 42)));
}
