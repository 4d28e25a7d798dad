// One CUDA context: its channel, its open launches, its drain.
#pragma once

#include <sanitizer.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "monitor/drain.h"
#include "monitor/gpu_engines.h"
#include "monitor/launch.h"
#include "monitor/output.h"
#include "patches/channel.h"

namespace cuvein {

// The trace has a class of this name, too, and both end up in one library.
inline namespace observed {

class Context {
 public:
  // Null, with the reason in *error, when memory is short.
  static std::unique_ptr<Context> create(CUcontext handle, CUdevice device, int id, uint64_t ring_bytes,
                                         Output* output, std::string* error);

  // Makes the channel known to the device. Not every context is ready for that from the start, so this may be
  // tried again; false with *error when it failed.
  bool prepare(std::string* error);

  CUcontext handle() const { return handle_; }
  int id() const { return id_; }
  LaunchSlots& slots() { return slots_; }
  Drain& drain() { return *drain_; }
  const void* userdata(uint32_t slot) const { return channel_ + slot; }
  // Null unless launches may be analysed on the GPU.
  GpuEngines* gpu() const { return gpu_.get(); }
  // `memory`: bytes of the device that may be taken for that; 0: not said. `barrier_order`: what block
  // barriers order is followed.
  void use_gpu(uint64_t memory, bool barrier_order) {
    gpu_ = std::make_unique<GpuEngines>(handle_, image_, reinterpret_cast<uint64_t>(channel_),
                                        std::make_shared<Budget>(memory, &drain_->device_memory()),
                                        barrier_order);
  }

  // A small number for a stream, in the order of their appearance; 0 is the default stream.
  int stream(CUstream stream);
  void stream_destroyed(CUstream stream);

 private:
  Context(CUcontext handle, int id) : handle_(handle), id_(id) {}

  const CUcontext handle_;
  const int id_;
  char* channel_ = nullptr;  // device memory
  // What it is to hold.
  Channel image_ = {};
  RingCounters counters_ = {};
  std::mutex preparing_;
  bool prepared_ = false;
  LaunchSlots slots_;
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<GpuEngines> gpu_;
  std::mutex mutex_;
  std::map<CUstream, int> streams_;
  int next_stream_ = 1;
};

}  // namespace observed

class Contexts {
 public:
  void add(CUcontext handle, std::shared_ptr<Context> context);
  std::shared_ptr<Context> remove(CUcontext handle);
  std::shared_ptr<Context> find(CUcontext handle);
  std::map<CUcontext, std::shared_ptr<Context>> all();
  int next_id() { return ++ids_; }

 private:
  std::mutex mutex_;
  std::map<CUcontext, std::shared_ptr<Context>> contexts_;
  std::atomic<int> ids_{0};
};

}  // namespace cuvein
