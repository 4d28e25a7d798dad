// Two contexts on one device, made with the driver API, the same kernel in each: profiles of both, kept
// apart.
#include <dlfcn.h>

#include "common.h"

__global__ void in_context(int* words) {
  words[threadIdx.x] = threadIdx.x;  // @write
}

// The driver is loaded by name, so nothing has to be linked.
template <class Function>
Function driver(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* address = library == nullptr ? nullptr : dlsym(library, name);
  if (address == nullptr) {
    std::fprintf(stderr, "no %s in libcuda.so.1\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function>(address);
}

int main() {
  using Context = void*;
  driver<int (*)(unsigned)>("cuInit")(0);
  auto* create = driver<int (*)(Context*, unsigned, int)>("cuCtxCreate_v2");
  auto* set = driver<int (*)(Context)>("cuCtxSetCurrent");
  auto* destroy = driver<int (*)(Context)>("cuCtxDestroy_v2");
  Context contexts[2];
  for (Context& context : contexts) {
    if (create(&context, 0, 0) != 0) {
      std::fprintf(stderr, "no context\n");
      return 1;
    }
  }
  bool good = true;
  for (Context context : contexts) {
    if (set(context) != 0) return 1;
    int* words = nullptr;
    CHECK(cudaMalloc(&words, 64 * sizeof(int)));
    in_context<<<1, 64>>>(words);
    CHECK_KERNEL();
    std::vector<int> found(64), expected(64);
    for (int i = 0; i < 64; ++i) expected[i] = i;
    CHECK(cudaMemcpy(found.data(), words, 64 * sizeof(int), cudaMemcpyDeviceToHost));
    good = good && agree("words", found, expected);
  }
  for (Context context : contexts) destroy(context);
  return finish(good);
}
