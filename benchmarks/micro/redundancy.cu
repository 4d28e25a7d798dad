// Each kind of redundancy within a thread, and the uses beside it that are none. Blocks of 128 threads.
//
// Barriers and pointers that may alias keep the compiler from removing what is redundant, as they do in real
// programs; nothing here is volatile.
#include "micro.h"

constexpr int kThreads = 128;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// The same value loaded in each round.
__global__ void read_after_read(const float* input, float* output, int rounds) {
  const int i = index(), threads = gridDim.x * kThreads;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const float value = input[i];     // @load
    output[r * threads + i] = value;  // @store
  }
}

__global__ void read_after_write(float* output, float* other) {
  const int i = index();
  output[i] = static_cast<float>(i);  // @write
  __syncthreads();
  const float value = output[i];  // @read
  other[i] = value;               // @store
}

// The first value is overwritten unread.
__global__ void write_after_write(float* output) {
  const int i = index();
  output[i] = static_cast<float>(i);  // @first
  __syncthreads();
  output[i] = static_cast<float>(i + 1);  // @second
}

// An update in place: nothing to save.
__global__ void write_after_read(float* output) {
  const int i = index();
  const float value = output[i];  // @read
  output[i] = 2 * value;          // @write
}

// Half of the lanes load again.
__global__ void reload_half(const float* input, float* output) {
  const int i = index();
  const float value = input[i];  // @load
  output[i] = value;             // @store
  if (i % 2 == 0) {
    const float again = input[i];              // @again
    output[gridDim.x * kThreads + i] = again;  // @store_again
  }
}

// A sum kept in memory where a register would do.
__global__ void accumulate(const float* input, float* output, int rounds) {
  const int i = index(), threads = gridDim.x * kThreads;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    const float gain = input[r * threads + i];  // @gain
    const float sum = output[i];                // @read
    output[i] = sum + gain;                     // @write
    __syncthreads();
  }
}

// Shared memory that only ever serves the thread that wrote it.
__global__ void own_slot(float* output) {
  __shared__ float slots[kThreads];
  slots[threadIdx.x] = static_cast<float>(threadIdx.x);  // @write
  __syncthreads();
  const float value = slots[threadIdx.x];  // @read
  output[index()] = value;                 // @store
}

__global__ void shared_overwritten(float* output) {
  __shared__ float slots[kThreads];
  slots[threadIdx.x] = 1;  // @first
  __syncthreads();
  slots[threadIdx.x] = 2;  // @second
  __syncthreads();
  const float value = slots[threadIdx.x ^ 1];  // @read
  output[index()] = value;                     // @store
}

__global__ void shared_reread(float* output, int rounds) {
  __shared__ float slots[kThreads];
  slots[threadIdx.x ^ 1] = static_cast<float>(threadIdx.x);  // @write
  float sum = 0;
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    sum += slots[threadIdx.x];  // @read
  }
  output[index()] = sum;  // @store
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"read_after_read",
           {"blocks", "rounds"},
           [](const Memory& m, const int* p) {
             read_after_read<<<p[0], kThreads>>>(m.input<float>(), m.output<float>(), p[1]);
           }},
          {"read_after_write",
           {"blocks"},
           [](const Memory& m, const int* p) {
             read_after_write<<<p[0], kThreads>>>(m.output<float>(), m.other<float>());
           }},
          {"write_after_write",
           {"blocks"},
           [](const Memory& m, const int* p) { write_after_write<<<p[0], kThreads>>>(m.output<float>()); }},
          {"write_after_read",
           {"blocks"},
           [](const Memory& m, const int* p) { write_after_read<<<p[0], kThreads>>>(m.output<float>()); }},
          {"reload_half",
           {"blocks"},
           [](const Memory& m, const int* p) {
             reload_half<<<p[0], kThreads>>>(m.input<float>(), m.output<float>());
           }},
          {"accumulate",
           {"blocks", "rounds"},
           [](const Memory& m, const int* p) {
             accumulate<<<p[0], kThreads>>>(m.input<float>(), m.output<float>(), p[1]);
           }},
          {"own_slot",
           {"blocks"},
           [](const Memory& m, const int* p) { own_slot<<<p[0], kThreads>>>(m.output<float>()); }},
          {"shared_overwritten",
           {"blocks"},
           [](const Memory& m, const int* p) { shared_overwritten<<<p[0], kThreads>>>(m.output<float>()); }},
          {"shared_reread",
           {"blocks", "rounds"},
           [](const Memory& m, const int* p) { shared_reread<<<p[0], kThreads>>>(m.output<float>(), p[1]); }},
      },
      argc, argv);
}
