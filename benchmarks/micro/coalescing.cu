// Global memory and its sectors of 32 bytes: strides, shifts, widths, structures, orders, columns. Everything
// that is read is new. Blocks of 128 threads.
#include "micro.h"

constexpr int kThreads = 128;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void strided(const float* input, float* output, int step) {
  const int i = index();
  const float value = input[step * i];  // @load
  output[i] = value;                    // @store
}

// Rows that do not begin where a sector does.
__global__ void shifted(const float* input, float* output, int by) {
  const int i = index();
  const float value = input[i + by];  // @load
  output[i] = value;                  // @store
}

template <class T>
__global__ void width(const T* input, T* output) {
  const int i = index();
  output[i] = input[i];  // @move
}

struct Point {
  float x, y, z;
};

// An array of structures of 12 bytes, a member at a time.
__global__ void members(const Point* input, float* output) {
  const int i = index();
  const float x = input[i].x;  // @x
  const float y = input[i].y;  // @y
  const float z = input[i].z;  // @z
  output[i] = x + y + z;       // @store
}

__global__ void reversed(const float* input, float* output) {
  const int i = index();
  const float value = input[gridDim.x * kThreads - 1 - i];  // @load
  output[i] = value;                                        // @store
}

// The words of a warp in an order that neither rises nor falls.
__global__ void permuted(const float* input, float* output) {
  const unsigned i = index();
  const float value = input[i / 32 * 32 + (__brev(i) >> 27)];  // @load
  output[i] = value;                                           // @store
}

// A thread walks along its row: the lanes of a warp go down a column.
__global__ void column_walk(const float* input, float* output, int columns) {
  const int i = index();
  float sum = 0;
#pragma unroll 1
  for (int column = 0; column < columns; ++column) {
    sum += input[i * columns + column];  // @load
  }
  output[i] = sum;  // @store
}

template <class T>
void launch_width(const Memory& memory, const int* parameters) {
  width<T><<<parameters[0], kThreads>>>(memory.input<T>(), memory.output<T>());
}

int main(int argc, char** argv) {
  return main_of(
      {
          {"strided",
           {"blocks", "step"},
           [](const Memory& m, const int* p) {
             strided<<<p[0], kThreads>>>(m.input<float>(), m.output<float>(), p[1]);
           }},
          {"shifted",
           {"blocks", "by"},
           [](const Memory& m, const int* p) {
             shifted<<<p[0], kThreads>>>(m.input<float>(), m.output<float>(), p[1]);
           }},
          {"width1", {"blocks"}, launch_width<unsigned char>},
          {"width2", {"blocks"}, launch_width<unsigned short>},
          {"width4", {"blocks"}, launch_width<float>},
          {"width8", {"blocks"}, launch_width<float2>},
          {"width16", {"blocks"}, launch_width<float4>},
          {"members",
           {"blocks"},
           [](const Memory& m, const int* p) {
             members<<<p[0], kThreads>>>(m.input<Point>(), m.output<float>());
           }},
          {"reversed",
           {"blocks"},
           [](const Memory& m, const int* p) {
             reversed<<<p[0], kThreads>>>(m.input<float>(), m.output<float>());
           }},
          {"permuted",
           {"blocks"},
           [](const Memory& m, const int* p) {
             permuted<<<p[0], kThreads>>>(m.input<float>(), m.output<float>());
           }},
          {"column_walk",
           {"blocks", "columns"},
           [](const Memory& m, const int* p) {
             column_walk<<<p[0], kThreads>>>(m.input<float>(), m.output<float>(), p[1]);
           }},
      },
      argc, argv);
}
