// The same bytes in different widths: labels are of bytes, whatever the width that touched them.
#include "micro.h"

constexpr int kThreads = 128;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Four bytes stored one by one, then read as a word.
__global__ void bytes_then_word(unsigned char* output, unsigned* other) {
  const int i = index();
#pragma unroll 1
  for (int j = 0; j < 4; ++j) {
    output[4 * i + j] = static_cast<unsigned char>(i + j);  // @write
  }
  __syncthreads();
  const unsigned word = reinterpret_cast<const unsigned*>(output)[i];  // @read
  other[i] = word;                                                     // @store
}

// Words in shared memory, of which the bytes of the first 32 are read one by one.
__global__ void word_then_bytes(unsigned char* output) {
  __shared__ unsigned words[kThreads];
  words[threadIdx.x] = threadIdx.x;  // @write
  __syncthreads();
  const unsigned char byte = reinterpret_cast<const unsigned char*>(words)[threadIdx.x];  // @read
  output[index()] = byte;                                                                 // @store
}

// One byte of four is written; the lane beside reads the word.
__global__ void one_byte(unsigned char* output, unsigned* other) {
  const int i = index();
  output[4 * i + 1] = 1;  // @write
  __syncthreads();
  const unsigned word = reinterpret_cast<const unsigned*>(output)[i ^ 1];  // @read
  other[i] = word;                                                         // @store
}

// Words in shared memory, read as pairs by half as many threads. Blocks of 64 threads.
__global__ void pairs(uint2* output) {
  __shared__ uint2 memory[32];
  reinterpret_cast<unsigned*>(memory)[threadIdx.x] = threadIdx.x;  // @write
  __syncthreads();
  if (threadIdx.x < 32) {
    output[blockIdx.x * 32 + threadIdx.x] = memory[threadIdx.x];  // @move
  }
}

// Four words, each stored by an instruction of its own, read as a vector.
__global__ void four_origins(float* output, float4* other) {
  const int i = index();
  output[4 * i] = 1;      // @write0
  output[4 * i + 1] = 2;  // @write1
  output[4 * i + 2] = 3;  // @write2
  output[4 * i + 3] = 4;  // @write3
  __syncthreads();
  other[i] = reinterpret_cast<const float4*>(output)[i];  // @move
}

// A vector stored, its words read by the four lanes around; the lane reads word lane % 4 of the vector of
// lane lane / 4 * 4, so that lanes 0, 4, 8, ... meet their own.
__global__ void vector_then_words(float4* output, float* other) {
  const int i = index();
  const float value = static_cast<float>(i);
  output[i] = make_float4(value, value, value, value);  // @write
  __syncthreads();
  const float word = reinterpret_cast<const float*>(output)[i / 4 * 16 + i % 4];  // @read
  other[i] = word;                                                                // @store
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"bytes_then_word",
           {"blocks"},
           [](const Memory& m, const int* p) {
             bytes_then_word<<<p[0], kThreads>>>(m.output<unsigned char>(), m.other<unsigned>());
           }},
          {"word_then_bytes",
           {"blocks"},
           [](const Memory& m, const int* p) {
             word_then_bytes<<<p[0], kThreads>>>(m.output<unsigned char>());
           }},
          {"one_byte",
           {"blocks"},
           [](const Memory& m, const int* p) {
             one_byte<<<p[0], kThreads>>>(m.output<unsigned char>(), m.other<unsigned>());
           }},
          {"pairs",
           {"blocks"},
           [](const Memory& m, const int* p) { pairs<<<p[0], 64>>>(m.output<uint2>()); }},
          {"four_origins",
           {"blocks"},
           [](const Memory& m, const int* p) {
             four_origins<<<p[0], kThreads>>>(m.output<float>(), m.other<float4>());
           }},
          {"vector_then_words",
           {"blocks"},
           [](const Memory& m, const int* p) {
             vector_then_words<<<p[0], kThreads>>>(m.output<float4>(), m.other<float>());
           }},
      },
      argc, argv);
}
