// Shared memory and its 32 banks: strides and widths with known conflicts, padding that helps and that does
// not, a swizzle, lanes that share words.
#include "micro.h"

constexpr int kTile = 32, kRows = 8;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A warp a block. Each lane writes an element, `step` elements from the next lane's, and reads that of the
// lane beside.
template <class T>
__device__ void stride(T value, T* output, int step) {
  extern __shared__ float4 memory[];
  T* slots = reinterpret_cast<T*>(memory);
  const int lane = threadIdx.x;
  slots[step * lane] = value;  // @write
  __syncthreads();
  output[index()] = slots[step * (lane ^ 1)];  // @move
}

__global__ void stride4(float* output, int step) { stride(static_cast<float>(threadIdx.x), output, step); }

__global__ void stride8(float2* output, int step) {
  const float value = static_cast<float>(threadIdx.x);
  stride(make_float2(value, 2 * value), output, step);
}

__global__ void stride16(float4* output, int step) {
  const float value = static_cast<float>(threadIdx.x);
  stride(make_float4(value, 2 * value, 3 * value, 4 * value), output, step);
}

// Elements narrower than a bank: lanes share words.
__global__ void stride1(unsigned char* output, int step) {
  stride(static_cast<unsigned char>(threadIdx.x), output, step);
}

__global__ void stride2(unsigned short* output, int step) {
  stride(static_cast<unsigned short>(threadIdx.x), output, step);
}

// A tile of 32 rows, written row by row by 8 warps and read column by column.
template <class T>
__device__ void tile_columns(T* output, int padding) {
  extern __shared__ double tile_memory[];
  T* tile = reinterpret_cast<T*>(tile_memory);
  const int pitch = kTile + padding, lane = threadIdx.x, warp = threadIdx.y;
#pragma unroll 1
  for (int row = warp; row < kTile; row += kRows) {
    tile[row * pitch + lane] = static_cast<T>(row);  // @row
  }
  __syncthreads();
  T sum = 0;
#pragma unroll 1
  for (int column = warp; column < kTile; column += kRows) {
    sum += tile[lane * pitch + column];  // @column
  }
  output[(blockIdx.x * kRows + warp) * kTile + lane] = sum;  // @sum
}

__global__ void column4(float* output, int padding) { tile_columns(output, padding); }

__global__ void column8(double* output, int padding) { tile_columns(output, padding); }

// The same without padding: element (row, column) lies at column XOR row.
__global__ void swizzle(float* output) {
  __shared__ float tile[kTile][kTile];
  const int lane = threadIdx.x, warp = threadIdx.y;
#pragma unroll 1
  for (int row = warp; row < kTile; row += kRows) {
    tile[row][lane ^ row] = static_cast<float>(row);  // @row
  }
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int column = warp; column < kTile; column += kRows) {
    sum += tile[lane][column ^ lane];  // @column
  }
  output[(blockIdx.x * kRows + warp) * kTile + lane] = sum;  // @sum
}

// `share` neighbouring lanes read the same word; a warp a block.
__global__ void shared_multicast(float* output, int share) {
  __shared__ float slots[32];
  const int lane = threadIdx.x;
  slots[lane] = static_cast<float>(lane);  // @write
  __syncthreads();
  const float value = slots[lane / share];  // @read
  output[index()] = value;                  // @store
}

// Two words, each for half of the lanes, in one bank.
__global__ void two_words(float* output) {
  __shared__ float slots[64];
  const int lane = threadIdx.x;
  if (lane < 2) slots[32 * lane] = static_cast<float>(lane);  // @write
  __syncthreads();
  const float value = slots[lane % 2 * 32];  // @read
  output[index()] = value;                   // @store
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"stride1",
           {"blocks", "step"},
           [](const Memory& m, const int* p) {
             stride1<<<p[0], 32, 32 * p[1]>>>(m.output<unsigned char>(), p[1]);
           }},
          {"stride2",
           {"blocks", "step"},
           [](const Memory& m, const int* p) {
             stride2<<<p[0], 32, 64 * p[1]>>>(m.output<unsigned short>(), p[1]);
           }},
          {"stride4",
           {"blocks", "step"},
           [](const Memory& m, const int* p) { stride4<<<p[0], 32, 128 * p[1]>>>(m.output<float>(), p[1]); }},
          {"stride8",
           {"blocks", "step"},
           [](const Memory& m, const int* p) {
             stride8<<<p[0], 32, 256 * p[1]>>>(m.output<float2>(), p[1]);
           }},
          {"stride16",
           {"blocks", "step"},
           [](const Memory& m, const int* p) {
             stride16<<<p[0], 32, 512 * p[1]>>>(m.output<float4>(), p[1]);
           }},
          {"column4",
           {"blocks", "padding"},
           [](const Memory& m, const int* p) {
             const size_t bytes = sizeof(float) * kTile * (kTile + p[1]);
             column4<<<p[0], dim3(kTile, kRows), bytes>>>(m.output<float>(), p[1]);
           }},
          {"column8",
           {"blocks", "padding"},
           [](const Memory& m, const int* p) {
             const size_t bytes = sizeof(double) * kTile * (kTile + p[1]);
             column8<<<p[0], dim3(kTile, kRows), bytes>>>(m.output<double>(), p[1]);
           }},
          {"swizzle",
           {"blocks"},
           [](const Memory& m, const int* p) { swizzle<<<p[0], dim3(kTile, kRows)>>>(m.output<float>()); }},
          {"shared_multicast",
           {"blocks", "share"},
           [](const Memory& m, const int* p) { shared_multicast<<<p[0], 32>>>(m.output<float>(), p[1]); }},
          {"two_words",
           {"blocks"},
           [](const Memory& m, const int* p) { two_words<<<p[0], 32>>>(m.output<float>()); }},
      },
      argc, argv);
}
