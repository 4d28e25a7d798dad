// Arrays that are indexed at run time and so live in local memory. A word of each lane of a warp lies beside
// the other lanes' same word. Blocks of 64 threads.
#include "micro.h"

constexpr int kThreads = 64, kElements = 8;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void indexed(int* output, int by) {
  int words[kElements];
#pragma unroll 1
  for (int j = 0; j < kElements; ++j) {
    words[(3 * j + by) % kElements] = j + index();  // @write
  }
  int sum = 0;
#pragma unroll 1
  for (int j = 0; j < kElements; ++j) {
    sum = 3 * sum + words[(5 * j + by) % kElements];  // @read
  }
  output[index()] = sum;  // @store
}

// Each lane at a word of its own choice.
__global__ void rotated(int* output) {
  int words[kElements];
#pragma unroll 1
  for (int j = 0; j < kElements; ++j) {
    words[(j + threadIdx.x) % kElements] = j + index();  // @write
  }
  int sum = 0;
#pragma unroll 1
  for (int j = 0; j < kElements; ++j) {
    sum = 3 * sum + words[j];  // @read
  }
  output[index()] = sum;  // @store
}

__global__ void wide(float* output, int by) {
  float4 vectors[kElements];
#pragma unroll 1
  for (int j = 0; j < kElements; ++j) {
    const float value = static_cast<float>(j + index());
    vectors[(3 * j + by) % kElements] = make_float4(value, value + 1, value + 2, value + 3);  // @write
  }
  float sum = 0;
#pragma unroll 1
  for (int j = 0; j < kElements; ++j) {
    const float4 vector = vectors[(5 * j + by) % kElements];  // @read
    sum = 3 * sum + vector.x * vector.y + vector.z * vector.w;
  }
  output[index()] = sum;  // @store
}

__global__ void narrow(int* output, int by) {
  unsigned char characters[kElements];
#pragma unroll 1
  for (int j = 0; j < kElements; ++j) {
    characters[(3 * j + by) % kElements] = static_cast<unsigned char>(j + index());  // @write
  }
  int sum = 0;
#pragma unroll 1
  for (int j = 0; j < kElements; ++j) {
    sum = 3 * sum + characters[(5 * j + by) % kElements];  // @read
  }
  output[index()] = sum;  // @store
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"indexed",
           {"blocks", "by"},
           [](const Memory& m, const int* p) { indexed<<<p[0], kThreads>>>(m.output<int>(), p[1]); }},
          {"rotated",
           {"blocks"},
           [](const Memory& m, const int* p) { rotated<<<p[0], kThreads>>>(m.output<int>()); }},
          {"wide",
           {"blocks", "by"},
           [](const Memory& m, const int* p) { wide<<<p[0], kThreads>>>(m.output<float>(), p[1]); }},
          {"narrow",
           {"blocks", "by"},
           [](const Memory& m, const int* p) { narrow<<<p[0], kThreads>>>(m.output<int>(), p[1]); }},
      },
      argc, argv);
}
