#include "monitor/driver_calls.h"

// The second of these does not stand without the first.
// clang-format off
#include <sanitizer.h>
#include <generated_cuda_meta.h>
// clang-format on

#include "monitor/monitor.h"
#include "monitor/sanitizer.h"

namespace cuvein {
namespace {

constexpr Sanitizer_CallbackDomain kDomains[] = {SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CB_DOMAIN_LAUNCH,
                                                 SANITIZER_CB_DOMAIN_SYNCHRONIZE, SANITIZER_CB_DOMAIN_GRAPHS};

constexpr Sanitizer_CallbackId kCalls[] = {
    SANITIZER_CBID_DRIVER_API_cuProfilerStart,
    SANITIZER_CBID_DRIVER_API_cuProfilerStop,
    SANITIZER_CBID_DRIVER_API_cuLaunchKernel,
    SANITIZER_CBID_DRIVER_API_cuLaunchKernel_ptsz,
    SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel,
    SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel_ptsz,
    SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx,
    SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx_ptsz,
    SANITIZER_CBID_DRIVER_API_cuMemMap,
    SANITIZER_CBID_DRIVER_API_cuMemUnmap,
};

template <typename Parameters>
const Parameters& parameters(const Sanitizer_CallbackData& data) {
  return *static_cast<const Parameters*>(data.functionParams);
}

bool succeeded(const Sanitizer_CallbackData& data) {
  return data.functionReturnValue != nullptr &&
         *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
}

}  // namespace

LaunchCall& launch_in_progress() {
  thread_local LaunchCall call;
  return call;
}

bool Monitor::enable(Sanitizer_SubscriberHandle subscriber) {
  for (const Sanitizer_CallbackDomain domain : kDomains) {
    const SanitizerResult result = sanitizer().EnableDomain(1, subscriber, domain);
    if (result != SANITIZER_SUCCESS) {
      problem("the Sanitizer API refused to report events: " + sanitizer().text(result));
      return false;
    }
  }
  // These only add to what is known; a driver without one of them does without.
  for (const Sanitizer_CallbackId call : kCalls) {
    sanitizer().EnableCallback(1, subscriber, SANITIZER_CB_DOMAIN_DRIVER_API, call);
  }
  return true;
}

void Monitor::on_driver(Sanitizer_CallbackId id, const Sanitizer_CallbackData& data) {
  const bool enters = data.callbackSite == SANITIZER_API_ENTER;
  switch (id) {
    case SANITIZER_CBID_DRIVER_API_cuProfilerStart:
      if (!enters && succeeded(data)) selection_.profiler_start();
      break;
    case SANITIZER_CBID_DRIVER_API_cuProfilerStop:
      if (!enters && succeeded(data)) selection_.profiler_stop();
      break;
    case SANITIZER_CBID_DRIVER_API_cuLaunchKernel:
    case SANITIZER_CBID_DRIVER_API_cuLaunchKernel_ptsz:
      launch_in_progress().dynamic_shared =
          enters ? parameters<cuLaunchKernel_params>(data).sharedMemBytes : 0;
      break;
    case SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel:
    case SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel_ptsz:
      launch_in_progress().dynamic_shared =
          enters ? parameters<cuLaunchCooperativeKernel_params>(data).sharedMemBytes : 0;
      break;
    case SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx:
    case SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx_ptsz: {
      const CUlaunchConfig* config = parameters<cuLaunchKernelEx_params>(data).config;
      launch_in_progress().dynamic_shared = enters && config != nullptr ? config->sharedMemBytes : 0;
      break;
    }
    case SANITIZER_CBID_DRIVER_API_cuMemMap:
      if (!enters && succeeded(data) && config_.allocations) {
        const auto& map = parameters<cuMemMap_params>(data);
        allocations_.add({map.ptr, map.size, AllocationKind::kMapped, "", site(), nullptr});
      }
      break;
    case SANITIZER_CBID_DRIVER_API_cuMemUnmap:
      if (enters) {
        const auto& unmap = parameters<cuMemUnmap_params>(data);
        allocations_.remove_range(unmap.ptr, unmap.size);
      }
      break;
    default:
      break;
  }
}

}  // namespace cuvein
