// Five-point stencil on a square field, tiles of 32 x 8 with their halo staged in shared memory.
//
//   stencil [n]            n a multiple of 32: n x n inner points of a field of (n + 2) x (n + 2);
//                          G = n^2 / 256 blocks
//
//   line     access          bytes by label
//   load     field, read     a block reads its 34 x 10 points once, 1360 G in all: cold 4 (n + 2)^2, the
//                            rest grid: the halos that two to four blocks share
//   keep     tile, write     cold 1360 G
//   centre, north, south,    1024 G each, none cold: thread, warp_diff_inst or block, as the warps come
//   west, east: tile, read
//   store    result, write   cold 4 n^2
//
// A warp's 32 words of a tile row lie in 32 banks: 1 wavefront.
#include "common.h"

constexpr int kWidth = 32, kHeight = 8;
constexpr int kTileWidth = kWidth + 2, kTileHeight = kHeight + 2;

__global__ void stencil(const float* field, float* result, int n) {
  __shared__ float tile[kTileHeight * kTileWidth];
  const int pitch = n + 2;
  const float* corner = field + static_cast<size_t>(blockIdx.y) * kHeight * pitch + blockIdx.x * kWidth;
#pragma unroll 1
  for (int i = threadIdx.y * kWidth + threadIdx.x; i < kTileHeight * kTileWidth; i += kWidth * kHeight) {
    const float value = corner[i / kTileWidth * pitch + i % kTileWidth];  // @load
    tile[i] = value;                                                      // @keep
  }
  __syncthreads();
  const int here = (threadIdx.y + 1) * kTileWidth + threadIdx.x + 1;
  float sum = 4 * tile[here];      // @centre
  sum -= tile[here - kTileWidth];  // @north
  sum -= tile[here + kTileWidth];  // @south
  sum -= tile[here - 1];           // @west
  sum -= tile[here + 1];           // @east
  const int row = blockIdx.y * kHeight + threadIdx.y, column = blockIdx.x * kWidth + threadIdx.x;
  result[static_cast<size_t>(row) * n + column] = sum;  // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int n = arguments.number("n", 64, kWidth);
  arguments.done();

  const int pitch = n + 2;
  std::vector<float> field(static_cast<size_t>(pitch) * pitch), expected(static_cast<size_t>(n) * n);
  for (size_t i = 0; i < field.size(); ++i) field[i] = static_cast<float>(i * 31 % 97);
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      const float* here = &field[static_cast<size_t>(row + 1) * pitch + column + 1];
      expected[static_cast<size_t>(row) * n + column] =
          4 * here[0] - here[-pitch] - here[pitch] - here[-1] - here[1];
    }
  }
  Array<float> input(field), result(expected.size());
  stencil<<<dim3(n / kWidth, n / kHeight), dim3(kWidth, kHeight)>>>(input.get(), result.get(), n);
  CHECK_KERNEL();
  return finish(agree("result", result.host(), expected));
}
