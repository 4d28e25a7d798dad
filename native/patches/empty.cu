// Callbacks that do nothing, by the names and signatures of the real ones: what instrumentation alone costs,
// the floor that the overhead of the real ones is measured against ("empty_patches" in the monitor's
// configuration).
#include <sanitizer_patching.h>

#include <cstdint>

#define CUVEIN_PATCH extern "C" __device__ __noinline__ SanitizerPatchResult

CUVEIN_PATCH cuvein_global(void*, uint64_t, void*, uint32_t, uint32_t, const void*) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_shared(void*, uint64_t, void*, uint32_t, uint32_t, const void*) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_local(void*, uint64_t, void*, uint32_t, uint32_t, const void*) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_matrix(void*, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t, const void*) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_copy(void*, uint64_t, void*, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_exit(void*, uint64_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_barrier(void*, uint64_t, uint32_t, uint32_t, uint32_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_syncwarp(void*, uint64_t, uint32_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_commit(void*, uint64_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_wait(void*, uint64_t, uint32_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_cluster_arrive(void*, uint64_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_cluster_wait(void*, uint64_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_mbarrier(void*, uint64_t, void*, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_mbarrier_attempt(void*, uint64_t, void*, uint32_t, uint32_t, uint32_t, uint32_t,
                                     uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_malloc(void*, uint64_t, void*, uint64_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_free(void*, uint64_t, void*) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_bulk_load(void*, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_bulk_store(void*, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_bulk_move(void*, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_bulk_reduce_global(void*, uint64_t, uint64_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_bulk_reduce_shared(void*, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_tma_load(void*, uint64_t, uint64_t, uint32_t, uint32_t, int32_t, int32_t, int32_t,
                             int32_t, int32_t, uint32_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_wgmma(void*, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_remote_shared(void*, uint64_t, void*, uint32_t, uint32_t, const void*) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_async_store(void*, uint64_t, uint32_t, uint32_t, void*, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_async_reduction(void*, uint64_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_shared_memset(void*, uint64_t, uint32_t, uint32_t) { return SANITIZER_PATCH_SUCCESS; }
CUVEIN_PATCH cuvein_tensor_core_commit(void*, uint64_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_cluster_launch(void*, uint64_t, uint32_t, uint32_t, uint32_t) {
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_PATCH cuvein_tma_store(void*, uint64_t) { return SANITIZER_PATCH_SUCCESS; }
