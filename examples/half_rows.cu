// RMS norm of rows in half precision, a warp a row: the first pass reads halves, the second pairs of halves.
//
//   half_rows [rows [columns]]     R rows (a multiple of 4), C columns (a multiple of 64); blocks of 4 warps
//
//   line      access                     bytes by label
//   first     input, read, 2 bytes       cold 2 R C
//   second    input, read, 4 bytes       lane e % 32 read element e. Lane 0 meets its own half in the lower
//                                        part of its pair, lane 31 in the upper: of every 128 bytes thread 4,
//                                        warp_diff_inst 124 (from first)
//   weight    weights, read, 4 bytes     cold 2 C, block or grid 2 C (R - 1)
//   store     output, write, 4 bytes     cold 2 R C
//
// first: 2 sectors an execution; the others 4.
#include <cuda_fp16.h>

#include "common.h"

constexpr int kRowsPerBlock = 4;

__global__ void half_rows(const __half* input, const __half2* weights, __half2* output, int columns) {
  const int lane = threadIdx.x, row = blockIdx.x * kRowsPerBlock + threadIdx.y;
  const __half* single = input + static_cast<size_t>(row) * columns;
  float squares = 0;
#pragma unroll 1
  for (int column = lane; column < columns; column += 32) {
    const float value = __half2float(single[column]);  // @first
    squares += value * value;
  }
  for (int distance = 16; distance > 0; distance /= 2) squares += __shfl_xor_sync(~0u, squares, distance);
  const float scale = rsqrtf(squares / static_cast<float>(columns) + 1e-6f);
  const volatile unsigned* pairs = reinterpret_cast<const volatile unsigned*>(single);
#pragma unroll 1
  for (int pair = lane; pair < columns / 2; pair += 32) {
    const unsigned bits = pairs[pair];     // @second
    const __half2 weight = weights[pair];  // @weight
    const float2 value = __half22float2(*reinterpret_cast<const __half2*>(&bits));
    const float2 factor = __half22float2(weight);
    const __half2 result = __floats2half2_rn(value.x * scale * factor.x, value.y * scale * factor.y);
    output[static_cast<size_t>(row) * (columns / 2) + pair] = result;  // @store
  }
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int rows = arguments.number("rows", 16, kRowsPerBlock);
  const int columns = arguments.number("columns", 512, 64);
  arguments.done();

  const size_t size = static_cast<size_t>(rows) * columns;
  std::vector<__half> values(size), weights(columns);
  std::vector<float> expected(size);
  for (size_t i = 0; i < size; ++i) values[i] = __float2half(static_cast<float>(i * 37 % 129) / 64 - 1);
  for (int i = 0; i < columns; ++i) weights[i] = __float2half(1 + static_cast<float>(i % 16) / 16);
  for (int row = 0; row < rows; ++row) {
    const size_t start = static_cast<size_t>(row) * columns;
    double squares = 0;
    for (int i = 0; i < columns; ++i) squares += std::pow(__half2float(values[start + i]), 2);
    for (int i = 0; i < columns; ++i) {
      expected[start + i] = static_cast<float>(__half2float(values[start + i]) * __half2float(weights[i]) /
                                               std::sqrt(squares / columns + 1e-6));
    }
  }
  Array<__half> input(values), factors(weights), output(size);
  half_rows<<<rows / kRowsPerBlock, dim3(32, kRowsPerBlock)>>>(
      input.get(), reinterpret_cast<const __half2*>(factors.get()), reinterpret_cast<__half2*>(output.get()),
      columns);
  CHECK_KERNEL();
  std::vector<float> found;
  for (const __half value : output.host()) found.push_back(__half2float(value));
  return finish(agree("output", found, expected, 2e-3));
}
