// A warp writes a tile of 32 rows of 16 bytes, a row a lane, and loads it as 8 x 8 matrices of halves
// (ldmatrix, sm_75 and later). In the load lane i gives the address of row i + 1: 8 addressing lanes a
// matrix, 16 bytes each. Four matrices: warp_diff_inst 512 bytes from write, 4 wavefronts; two: the first 16
// lanes, 256 bytes from the load before, thread.
#include <cstdint>

#include "common.h"

__global__ void load_matrix(unsigned* output) {
  __shared__ uint4 tile[32];
  const int lane = threadIdx.x;
  tile[lane] = make_uint4(4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3);  // @write
  __syncthreads();
  const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(&tile[(lane + 1) % 32]));
  unsigned a, b, c, d, e, f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"  // @four
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(row)  // @four
               : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"  // @two
               : "=r"(e), "=r"(f)
               : "r"(row)  // @two
               : "memory");
  output[lane] = a + b + c + d + e + f;  // @store
}

int main() {
  Array<unsigned> output(32);
  load_matrix<<<1, 32>>>(output.get());
  CHECK_KERNEL();
  // Lane i holds word i % 4 of row i / 4 of each matrix; matrix m begins at row 8 m + 1 of the tile.
  std::vector<unsigned> expected(32);
  for (int i = 0; i < 32; ++i) {
    for (int matrix : {0, 1, 2, 3, 0, 1}) expected[i] += (8 * matrix + i / 4 + 1) % 32 * 4 + i % 4;
  }
  return finish(agree("output", output.host(), expected));
}
