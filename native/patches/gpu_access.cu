// Loads, stores, atomics and copies on the GPU engine; of launches that it does not have, the callbacks of
// the host engine.
#define cuvein_global host_global
#define cuvein_shared host_shared
#define cuvein_local host_local
#define cuvein_matrix host_matrix
#define cuvein_copy host_copy
#include "patches/access.cu"
#undef cuvein_global
#undef cuvein_shared
#undef cuvein_local
#undef cuvein_matrix
#undef cuvein_copy

#include "patches/gpu_callback.cuh"
#include "patches/gpu_copy_access.cuh"

namespace cuvein {
namespace gpu {
namespace {

template <Space kSpace>
CUVEIN_FAST void analyse_access(const Group& group, uint64_t pc, uint64_t address, uint32_t size,
                                uint32_t flags) {
  Access access{AccessType::kRead, false, moved_shift(size)};
  if (classify(flags, &access.type)) analyse_any<kSpace>(group, access, pc, address);
}

}  // namespace
}  // namespace gpu
}  // namespace cuvein

using cuvein::gpu::Engines;

namespace {

// An access of the lanes `active` of which not all is known. `packed`: size and flags.
template <Space kSpace>
CUVEIN_SLOW uint32_t begin(uint64_t data, uint64_t address, uint32_t where, uint32_t packed,
                           uint32_t active) {
  const uint32_t size = packed >> 16, flags = packed & 0xffff, pc = where - static_cast<uint32_t>(kSpace);
  const cuvein::gpu::Group group{data, active, cuvein::gpu::lane_of_warp()};
  if ((data & cuvein::kGpuCandidate) == 0 || !cuvein::gpu::on_gpu(group)) {
    void* const userdata = reinterpret_cast<void*>(data);
    void* const at = reinterpret_cast<void*>(address);
    return kSpace == Space::kGlobal ? host_global(userdata, pc, at, size, flags, nullptr)
                                    : host_shared(userdata, pc, at, size, flags, nullptr);
  }
  cuvein::gpu::Access access{AccessType::kRead, false, cuvein::moved_shift(size)};
  if (cuvein::classify(flags, &access.type))
    cuvein::gpu::analyse_first<kSpace>(group, address, pc, cuvein::gpu::pack_access(access));
  return SANITIZER_PATCH_SUCCESS;
}

template <Space kSpace>
CUVEIN_SLOW uint32_t start(uint64_t data, uint64_t address, uint32_t where, uint32_t packed,
                           uint32_t active) {
  if (cuvein::gpu::try_again<kSpace>(data, address, where, active)) return SANITIZER_PATCH_SUCCESS;
  return begin<kSpace>(data, address, where, packed, active);
}

// What is left of an access by the short way. `left`: a Left, and where not all is known of the access its
// size and flags above. `rest`: its address, the lower half of it, or the outcome. Else as in Further.
template <Space kSpace>
CUVEIN_FAST uint32_t go_on(uint64_t data, uint64_t rest, uint32_t where, uint32_t left) {
  const uint32_t active = cuvein::gpu::active_lanes();
  if ((left & 3) == 0) return start<kSpace>(data, rest, where, left >> 2, active);
  cuvein::gpu::finish_rest<kSpace>(data, rest, active, where, left);
  return SANITIZER_PATCH_SUCCESS;
}

}  // namespace

// Called by name, see below.
#define CUVEIN_STEP extern "C" __device__ __noinline__
// What is left of an access of the whole warp by the short way, and an access of a part of a warp from its
// beginning, as far as that goes without a call: it needs less of the stack. They return what go_on() needs,
// so that their caller need not keep it, or Left::kNothing.
struct CuveinRest {
  uint64_t data, rest, entry;
  uint32_t where, left;
};
namespace {
template <Space kSpace, cuvein::gpu::Left kLeft>
CUVEIN_FAST CuveinRest analyse_whole(uint64_t site, uint64_t rest) {
  const cuvein::gpu::Further now = cuvein::gpu::go_further<kSpace, true>(site, ~0u, rest, kLeft);
  return {site, now.rest, now.entry, now.what, now.left};
}
template <Space kSpace>
CUVEIN_FAST CuveinRest analyse_part(uint64_t data, uint64_t rest, uint32_t where, uint32_t left) {
  using namespace cuvein::gpu;  // NOLINT: its functions only
  const uint32_t active = active_lanes();
  uint32_t shifts, page;
  if (find_site<kSpace, false>(&data, active, where, rest, &shifts, &page)) {
    const Left known =
        analyse_usual<kSpace, false>(data, active, static_cast<uint32_t>(rest), shifts, page, &rest);
    const Further now = go_further<kSpace, false>(data, active, rest, known);
    return {data, now.rest, now.entry, now.what, now.left};
  }
  return {data, rest, 0, where, left};
}
template <Space kSpace, bool kWhole>
CUVEIN_FAST CuveinRest exchange_units(uint64_t site, uint64_t rest) {
  const uint32_t active = kWhole ? ~0u : cuvein::gpu::active_lanes();
  const cuvein::gpu::Further now = cuvein::gpu::exchange_several<kSpace, kWhole>(site, active, rest);
  return {site, now.rest, now.entry, now.what, now.left};
}
}  // namespace
#define CUVEIN_STEPS(name, space)                                                                            \
  CUVEIN_STEP CuveinRest cuvein_##name##_apart(uint64_t site, uint64_t rest) {                               \
    return analyse_whole<space, cuvein::gpu::Left::kScattered>(site, rest);                                  \
  }                                                                                                          \
  CUVEIN_STEP CuveinRest cuvein_##name##_counts(uint64_t site, uint64_t rest) {                              \
    return analyse_whole<space, cuvein::gpu::Left::kCounts>(site, rest);                                     \
  }                                                                                                          \
  CUVEIN_STEP CuveinRest cuvein_##name##_units(uint64_t site, uint64_t rest) {                               \
    return exchange_units<space, true>(site, rest);                                                          \
  }                                                                                                          \
  CUVEIN_STEP CuveinRest cuvein_##name##_part_units(uint64_t site, uint64_t rest) {                          \
    return exchange_units<space, false>(site, rest);                                                         \
  }                                                                                                          \
  CUVEIN_STEP CuveinRest cuvein_##name##_part(uint64_t data, uint64_t rest, uint32_t where, uint32_t left) { \
    return analyse_part<space>(data, rest, where, left);                                                     \
  }                                                                                                          \
  CUVEIN_STEP uint32_t cuvein_##name##_left(uint64_t data, uint64_t rest, uint32_t where, uint32_t left) {   \
    return go_on<space>(data, rest, where, left);                                                            \
  }
CUVEIN_STEP CuveinRest cuvein_tasks(uint64_t site, uint64_t rest) {
  const cuvein::gpu::Further now = cuvein::gpu::count_tasks<false>(site, cuvein::gpu::active_lanes(), rest);
  return {site, now.rest, 0, now.what, now.left};
}
CUVEIN_STEP uint32_t cuvein_edges(uint64_t site, uint64_t rest, uint64_t entry, uint32_t where,
                                  uint32_t left) {
  cuvein::gpu::finish_edges(site, rest, entry, cuvein::gpu::active_lanes(), where, left);
  return SANITIZER_PATCH_SUCCESS;
}
CUVEIN_STEPS(global, Space::kGlobal)
CUVEIN_STEPS(shared, Space::kShared)

namespace {

// Calls that all lanes make or none, of the functions of a space.
#define CUVEIN_ASM_MORE ", where, left"
#define CUVEIN_ASM_GIVE(data, rest, where, left) \
  "st.param.b64 [data], " data                   \
  ";\n\t"                                        \
  "st.param.b64 [rest], " rest                   \
  ";\n\t"                                        \
  "st.param.b32 [where], " where                 \
  ";\n\t"                                        \
  "st.param.b32 [left], " left ";\n\t"
#define CUVEIN_ASM_LEFT(space)            \
  "call.uni (result), cuvein_" space      \
  "_left, (data, rest, where, left);\n\t" \
  "ld.param.b32 %0, [result];\n\t"        \
  "bra.uni DONE;\n\t"
// What a step leaves, of which nothing may be left.
#define CUVEIN_ASM_AFTER                 \
  "ld.param.b64 at, [after];\n\t"        \
  "ld.param.b64 what, [after + 8];\n\t"  \
  "ld.param.b32 here, [after + 24];\n\t" \
  "ld.param.b32 now, [after + 28];\n\t"  \
  "setp.eq.u32 is, now, %5;\n\t"         \
  "@is bra.uni NONE;\n\t"
#define CUVEIN_ASM_REST(space) CUVEIN_ASM_GIVE("at", "what", "here", "now") CUVEIN_ASM_LEFT(space)
#define CUVEIN_ASM_STEP(space, step, more) \
  CUVEIN_ASM_GIVE("%1", "%2", "%3", "%4")  \
  "call.uni (after), cuvein_" space step ", (data, rest" more ");\n\t" CUVEIN_ASM_AFTER
// Where lanes have several units each. Paths do not join before the end: a place where they do would have to
// be kept on the stack.
#define CUVEIN_ASM_UNITS(space, step, name) \
  "setp.eq.u32 is, now, %8;\n\t"                                                              \
  "@is bra.uni UNITS" name ";\n\t" CUVEIN_ASM_REST(space)                                     \
  "UNITS" name ":\n\t"                                                                        \
  "st.param.b64 [data], at;\n\t"                                                              \
  "st.param.b64 [rest], what;\n\t"                                                            \
  "call.uni (after), cuvein_" space step ", (data, rest);\n\t" CUVEIN_ASM_AFTER              \
  "ld.param.b64 there, [after + 16];\n\t"                                                     \
  "setp.eq.u32 is, now, %9;\n\t"                                                              \
  "@is bra.uni TASKS" name ";\n\t"                                                            \
  "setp.lt.s32 is, now, 0;\n\t"                                                               \
  "@is bra.uni EDGES" name ";\n\t" CUVEIN_ASM_REST(space)                                     \
  "EDGES" name ":\n\t"                                                                        \
  "st.param.b64 [from], there;\n\t" CUVEIN_ASM_GIVE("at", "what", "here", "now")              \
  "call.uni (result), cuvein_edges, (data, rest, from, where, left);\n\t"                     \
  "ld.param.b32 %0, [result];\n\t"                                                            \
  "bra.uni DONE;\n\t"                                                                         \
  "TASKS" name ":\n\t"                                                                        \
  "st.param.b64 [data], at;\n\t"                                                              \
  "st.param.b64 [rest], what;\n\t"                                                            \
  "call.uni (after), cuvein_tasks, (data, rest);\n\t" CUVEIN_ASM_AFTER CUVEIN_ASM_REST(space)
#define CUVEIN_CALL_LEFT(space) \
  asm volatile(                                                                                 \
      "{\n\t"                                                                                   \
      ".reg .pred is;\n\t"                                                                      \
      ".reg .b32 here, now;\n\t"                                                                \
      ".reg .b64 what, at, there;\n\t"                                                          \
      ".param .b64 data;\n\t"                                                                   \
      ".param .b64 rest;\n\t"                                                                   \
      ".param .b64 from;\n\t"                                                                   \
      ".param .b32 where;\n\t"                                                                  \
      ".param .b32 left;\n\t"                                                                   \
      ".param .b32 result;\n\t"                                                                 \
      ".param .align 8 .b8 after[32];\n\t"                                                      \
      "setp.eq.u32 is, %4, %5;\n\t"                                                             \
      "@is bra.uni NONE;\n\t"                                                                   \
      "setp.ne.u32 is, %4, %6;\n\t"                                                             \
      "@is bra.uni COUNTS;\n\t" CUVEIN_ASM_STEP(space, "_apart", "") CUVEIN_ASM_UNITS(space, "_units", "A") \
      "COUNTS:\n\t"                                                                             \
      "setp.ne.u32 is, %4, %7;\n\t"                                                             \
      "@is bra.uni ALL;\n\t" CUVEIN_ASM_STEP(space, "_counts", "") CUVEIN_ASM_REST(space)       \
      "ALL:\n\t"                                                                                \
      "activemask.b32 here;\n\t"                                                                \
      "setp.eq.u32 is, here, -1;\n\t"                                                           \
      "@is bra.uni FIRST;\n\t" CUVEIN_ASM_STEP(space, "_part", CUVEIN_ASM_MORE) CUVEIN_ASM_UNITS(space, "_part_units", "P") \
      "FIRST:\n\t" CUVEIN_ASM_GIVE("%1", "%2", "%3", "%4") CUVEIN_ASM_LEFT(space)               \
      "NONE:\n\t"                                                                               \
      "mov.u32 %0, 0;\n\t"                                                                      \
      "DONE:\n\t"                                                                               \
      "}"                                                                                       \
      : "=&r"(result)                                                                           \
      : "l"(data), "l"(rest), "r"(where), "r"(left), "n"(static_cast<uint32_t>(Left::kNothing)), "n"(static_cast<uint32_t>(Left::kScattered)), "n"(static_cast<uint32_t>(Left::kCounts)), \
        "n"(static_cast<uint32_t>(Left::kScattered) | cuvein::gpu::kToExchange), "n"(static_cast<uint32_t>(Left::kScattered) | cuvein::gpu::kToCount) \
      : "memory")

template <Space kSpace>
CUVEIN_FAST SanitizerPatchResult go(void* userdata, uint64_t pc, void* at, uint32_t size, uint32_t flags) {
  using cuvein::gpu::Left;
  uint64_t data = reinterpret_cast<uint64_t>(userdata), rest = cuvein::place_in_block<kSpace>(at);
  uint32_t where = static_cast<uint32_t>(pc) + static_cast<uint32_t>(kSpace);
  // Packed so that the compiler does it at once, not where it is needed: one value to keep instead of two.
  uint32_t packed;
  asm("shl.b32 %0, %1, 18;" : "=r"(packed) : "r"(size));
  asm("lop3.b32 %0, %1, %2, %3, 0xF8;" : "=r"(packed) : "r"(packed), "r"(flags << 2), "r"(0x3ffff));
  uint32_t left = data != 0 ? packed : static_cast<uint32_t>(Left::kNothing);
  if ((data & (cuvein::kGpuCandidate | cuvein::kReplay)) == cuvein::kGpuCandidate) {
    if (cuvein::gpu::together(~0u, packed != ~0u)) {
      uint32_t shifts, page;
      if (cuvein::gpu::find_site<kSpace, true>(&data, ~0u, where, rest, &shifts, &page)) {
        left = static_cast<uint32_t>(cuvein::gpu::analyse_usual<kSpace, true>(
            data, ~0u, static_cast<uint32_t>(rest), shifts, page, &rest));
        where = static_cast<uint32_t>(data);  // is not needed again, so it is not kept
      }
    }
  }
  uint32_t result;
  if (kSpace == Space::kGlobal)
    CUVEIN_CALL_LEFT("global");
  else
    CUVEIN_CALL_LEFT("shared");
  return static_cast<SanitizerPatchResult>(result);
}

}  // namespace

CUVEIN_PATCH cuvein_global(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                           const void*) {
  return go<Space::kGlobal>(userdata, pc, address, size, flags);
}

CUVEIN_PATCH cuvein_shared(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                           const void*) {
  return go<Space::kShared>(userdata, pc, address, size, flags);
}

CUVEIN_PATCH cuvein_local(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                          const void* data) {
  cuvein::gpu::Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_local(userdata, pc, address, size, flags, data);
  if (engine == Engines::kGpu) {
    AccessType type;
    if (cuvein::classify(flags, &type))
      cuvein::gpu::analyse_local(group, static_cast<uint32_t>(reinterpret_cast<uint64_t>(address)),
                                 static_cast<uint32_t>(pc),
                                 cuvein::gpu::pack_kind(type, cuvein::moved_shift(size)));
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_matrix(void* userdata, uint64_t pc, uint32_t address, uint32_t size, uint32_t flags,
                           uint32_t count, const void* data) {
  cuvein::gpu::Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_matrix(userdata, pc, address, size, flags, count, data);
  if (engine == Engines::kGpu) {
    if (count < 4) group.active &= (1u << (8 * count)) - 1;
    if (group.active >> group.lane & 1)
      cuvein::gpu::analyse_access<Space::kShared>(group, pc, address & cuvein::kSharedWindow, size, flags);
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_copy(void* userdata, uint64_t pc, void* source, uint32_t target, uint32_t size,
                         uint32_t zeros) {
  cuvein::gpu::Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_copy(userdata, pc, source, target, size, zeros);
  if (engine == Engines::kNone) return SANITIZER_PATCH_SUCCESS;
  const uint32_t bytes = source == nullptr || zeros >= size ? 0 : size - zeros;
  cuvein::gpu::analyse_copy(group, pc, reinterpret_cast<uint64_t>(source), target & cuvein::kSharedWindow,
                            cuvein::moved_shift(size), bytes);
  return SANITIZER_PATCH_SUCCESS;
}
