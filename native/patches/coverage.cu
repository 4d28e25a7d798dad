// Memory instructions that are counted and not analysed.
#include "patches/emit.cuh"

using cuvein::Instruction;

namespace {

__device__ __forceinline__ SanitizerPatchResult count(void* userdata, uint64_t pc, Instruction instruction) {
  cuvein::Warp warp;
  if (!cuvein::observe(userdata, &warp)) return SANITIZER_PATCH_SUCCESS;
  return cuvein::emit(warp, cuvein::RecordKind::kNotAnalysed, pc, static_cast<uint64_t>(instruction), 0);
}

}  // namespace

CUVEIN_PATCH cuvein_bulk_load(void* userdata, uint64_t pc, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kBulkCopy);
}

CUVEIN_PATCH cuvein_bulk_store(void* userdata, uint64_t pc, uint64_t, uint32_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kBulkCopy);
}

CUVEIN_PATCH cuvein_bulk_move(void* userdata, uint64_t pc, uint32_t, uint32_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kBulkCopy);
}

CUVEIN_PATCH cuvein_bulk_reduce_global(void* userdata, uint64_t pc, uint64_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kBulkReduction);
}

CUVEIN_PATCH cuvein_bulk_reduce_shared(void* userdata, uint64_t pc, uint32_t, uint32_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kBulkReduction);
}

CUVEIN_PATCH cuvein_tma_load(void* userdata, uint64_t pc, uint64_t, uint32_t, uint32_t, int32_t, int32_t,
                             int32_t, int32_t, int32_t, uint32_t, uint32_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kTmaLoad);
}

// The mask is empty in a warp group that skips the multiplication.
CUVEIN_PATCH cuvein_wgmma(void* userdata, uint64_t pc, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                          uint32_t mask) {
  return mask == 0 ? SANITIZER_PATCH_SUCCESS : count(userdata, pc, Instruction::kWgmma);
}

CUVEIN_PATCH cuvein_remote_shared(void* userdata, uint64_t pc, void*, uint32_t, uint32_t, const void*) {
  return count(userdata, pc, Instruction::kRemoteShared);
}

CUVEIN_PATCH cuvein_async_store(void* userdata, uint64_t pc, uint32_t, uint32_t, void*, uint32_t) {
  return count(userdata, pc, Instruction::kAsyncStore);
}

CUVEIN_PATCH cuvein_async_reduction(void* userdata, uint64_t pc, uint32_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kAsyncReduction);
}

CUVEIN_PATCH cuvein_shared_memset(void* userdata, uint64_t pc, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kSharedMemset);
}

CUVEIN_PATCH cuvein_tensor_core_commit(void* userdata, uint64_t pc, uint32_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kTensorCoreCommit);
}

CUVEIN_PATCH cuvein_cluster_launch(void* userdata, uint64_t pc, uint32_t, uint32_t, uint32_t) {
  return count(userdata, pc, Instruction::kClusterLaunchControl);
}

// The API's header does not declare this callback's parameters; none beyond the common ones are needed.
CUVEIN_PATCH cuvein_tma_store(void* userdata, uint64_t pc) {
  return count(userdata, pc, Instruction::kTmaStore);
}
