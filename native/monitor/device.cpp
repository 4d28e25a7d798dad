#include "monitor/device.h"

#include <dlfcn.h>

namespace cuvein {
namespace {

template <typename Function>
Function driver_function(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

int attribute(CUdevice device, CUdevice_attribute which) {
  const auto get = driver_function<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  int value = 0;
  if (get == nullptr || get(&value, which, device) != CUDA_SUCCESS) return 0;
  return value;
}

}  // namespace

DeviceFacts device_facts(int device, Output* output) {
  DeviceFacts facts;
  facts.ordinal = device;
  char name[256] = {};
  const auto get_name = driver_function<decltype(&cuDeviceGetName)>("cuDeviceGetName");
  if (get_name != nullptr && get_name(name, sizeof name - 1, device) == CUDA_SUCCESS) facts.name = name;
  facts.major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  const auto get_memory = driver_function<decltype(&cuDeviceTotalMem)>("cuDeviceTotalMem_v2");
  size_t memory = 0;
  if (get_memory != nullptr && get_memory(&memory, device) == CUDA_SUCCESS) facts.memory = memory;
  const auto get_version = driver_function<decltype(&cuDriverGetVersion)>("cuDriverGetVersion");
  int version = 0;
  if (get_version != nullptr && get_version(&version) == CUDA_SUCCESS) {
    output->driver(std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
  }
  return facts;
}

bool variable_address(CUmodule module, const char* symbol, uint64_t* address, uint64_t* size) {
  static const auto get = driver_function<decltype(&cuModuleGetGlobal)>("cuModuleGetGlobal_v2");
  CUdeviceptr pointer = 0;
  size_t bytes = 0;
  if (get == nullptr || get(&pointer, &bytes, module, symbol) != CUDA_SUCCESS || pointer == 0) return false;
  *address = pointer;
  *size = bytes;
  return true;
}

}  // namespace cuvein
