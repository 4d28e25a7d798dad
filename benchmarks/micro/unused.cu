// Vectors of which one component is not used: the instruction moves all of it, and the cache serves all of
// it. Blocks of 128 threads.
#include "micro.h"

constexpr int kThreads = 128;

__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// The sum of the components but one. A compiler that sees two or fewer in use loads these alone.
template <int kLeft, class Vector>
__device__ auto sum_without(const Vector& v) {
  if constexpr (kLeft == 0) return v.y + v.z + v.w;
  if constexpr (kLeft == 1) return v.x + v.z + v.w;
  if constexpr (kLeft == 2) return v.x + v.y + v.w;
  if constexpr (kLeft == 3) return v.x + v.y + v.z;
}

// Vectors stored, three words of that of the lane beside used, then the fourth word of the one after: the
// last to read it was the vector load, although nobody looked at it. The compiler takes no __ldcg apart.
template <int kLeft>
__global__ void far_without(float4* output, float* other) {
  const int i = index();
  const float value = static_cast<float>(i);
  output[i] = make_float4(value, value, value, value);  // @write
  __syncthreads();
  const float three = sum_without<kLeft>(__ldcg(output + (i ^ 1)));  // @read
  __syncthreads();
  const float rest = reinterpret_cast<const float*>(output)[4 * (i ^ 2) + kLeft];  // @rest
  other[i] = three + rest;                                                         // @store
}

// The same in shared memory.
template <int kLeft>
__global__ void near_without(float* other) {
  __shared__ float4 memory[kThreads];
  const int t = threadIdx.x;
  const float value = static_cast<float>(t);
  memory[t] = make_float4(value, value, value, value);  // @write
  __syncthreads();
  const float three = sum_without<kLeft>(memory[t ^ 1]);  // @read
  __syncthreads();
  const float rest = reinterpret_cast<const float*>(memory)[4 * (t ^ 2) + kLeft];  // @rest
  other[index()] = three + rest;                                                   // @store
}

template <int kLeft>
Kernel far_kernel() {
  return {"far_without" + std::to_string(kLeft), {"blocks"}, [](const Memory& m, const int* p) {
            far_without<kLeft><<<p[0], kThreads>>>(m.output<float4>(), m.other<float>());
          }};
}

template <int kLeft>
Kernel near_kernel() {
  return {"near_without" + std::to_string(kLeft), {"blocks"}, [](const Memory& m, const int* p) {
            near_without<kLeft><<<p[0], kThreads>>>(m.other<float>());
          }};
}

int main(int argc, char** argv) {
  return main_of({far_kernel<0>(), far_kernel<1>(), far_kernel<2>(), far_kernel<3>(), near_kernel<0>(),
                  near_kernel<1>(), near_kernel<2>(), near_kernel<3>()},
                 argc, argv);
}
