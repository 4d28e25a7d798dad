// faults trap|fault: a launch that is in order, then one that traps or writes where nothing is. The program
// reports what the driver says and ends with status 3, which must be the same under cuvein.
#include "common.h"

__global__ void in_order(int* words) {
  words[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;  // @good
}

__global__ void trapping(int* words) {
  words[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 5) __trap();
}

__global__ void faulting(int* words, size_t apart) { words[threadIdx.x * apart] = 1; }

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const std::string what = arguments.word("trap");
  arguments.done();

  int* words = nullptr;
  CHECK(cudaMalloc(&words, 1024 * sizeof(int)));
  in_order<<<4, 256>>>(words);
  CHECK_KERNEL();
  std::printf("first launch done\n");
  if (what == "trap") {
    trapping<<<1, 64>>>(words);
  } else {
    faulting<<<1, 64>>>(words, size_t{1} << 40);
  }
  const cudaError_t status = cudaDeviceSynchronize();
  std::printf("second launch: %s\n", cudaGetErrorName(status));
  return status == cudaSuccess ? 0 : 3;
}
