#include "monitor/context.h"

#include "model/gpu_engine.h"
#include "monitor/device.h"
#include "monitor/sanitizer.h"
#include "patches/channel.h"

namespace cuvein {
namespace {

// The channel and the GPU engine's memory; the slots are addresses only.
constexpr uint64_t kChannelBytes = kChannelAlignment + gpu::kMemoryBytes;
static_assert(gpu::kMemoryBytes >= kChannelAlignment);
constexpr uint64_t kConsumedBytes = 128;  // behind the ring

}  // namespace

std::unique_ptr<Context> Context::create(CUcontext handle, CUdevice device, int id, uint64_t ring_bytes,
                                         Output* output, std::string* error) {
  Sanitizer& api = sanitizer();
  void* memory = nullptr;
  void* host = nullptr;
  SanitizerResult result = api.Alloc(handle, &memory, kChannelBytes);
  if (result == SANITIZER_SUCCESS) result = api.AllocHost(handle, &host, ring_bytes + kConsumedBytes);
  if (result != SANITIZER_SUCCESS) {
    *error = "no memory for the records of a context: " + api.text(result);
    return nullptr;
  }
  std::unique_ptr<Context> context(new Context(handle, id));
  const uint64_t address = reinterpret_cast<uint64_t>(memory);
  context->channel_ =
      reinterpret_cast<char*>((address + kChannelAlignment - 1) / kChannelAlignment * kChannelAlignment);
  auto* ring = static_cast<uint8_t*>(host);
  auto* consumed = reinterpret_cast<uint64_t*>(ring + ring_bytes);
  Drain::fill(ring, ring_bytes);
  *consumed = 0;
  context->image_.ring = ring;
  context->image_.mask = ring_bytes - 1;
  context->image_.consumed = consumed;
  context->image_.counters = reinterpret_cast<RingCounters*>(context->channel_ + kRingCountersOffset);
  context->counters_.limit = ring_bytes;
  context->drain_ = std::make_unique<Drain>(ring, ring_bytes, consumed, &context->slots_, output);
  context->drain_->start(device_facts, device);
  return context;
}

bool Context::prepare(std::string* error) {
  std::lock_guard<std::mutex> lock(preparing_);
  if (prepared_) return true;
  Sanitizer& api = sanitizer();
  Sanitizer_StreamHandle stream = nullptr;
  SanitizerResult result = api.GetStreamHandle(handle_, nullptr, &stream);
  if (result == SANITIZER_SUCCESS)
    result = api.MemcpyHostToDeviceAsync(channel_, &image_, sizeof image_, stream);
  if (result == SANITIZER_SUCCESS)
    result = api.MemcpyHostToDeviceAsync(image_.counters, &counters_, sizeof counters_, stream);
  // Other streams do not wait for the default one.
  if (result == SANITIZER_SUCCESS) result = api.StreamSynchronize(stream);
  prepared_ = result == SANITIZER_SUCCESS;
  if (!prepared_) *error = "a context could not be prepared: " + api.text(result);
  return prepared_;
}

int Context::stream(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return 0;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto [found, added] = streams_.try_emplace(stream, next_stream_);
  if (added) ++next_stream_;
  return found->second;
}

void Context::stream_destroyed(CUstream stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.erase(stream);
}

void Contexts::add(CUcontext handle, std::shared_ptr<Context> context) {
  std::lock_guard<std::mutex> lock(mutex_);
  contexts_[handle] = std::move(context);
}

std::shared_ptr<Context> Contexts::remove(CUcontext handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = contexts_.find(handle);
  if (found == contexts_.end()) return nullptr;
  std::shared_ptr<Context> context = found->second;
  contexts_.erase(found);
  return context;
}

std::shared_ptr<Context> Contexts::find(CUcontext handle) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = contexts_.find(handle);
  return found == contexts_.end() ? nullptr : found->second;
}

std::map<CUcontext, std::shared_ptr<Context>> Contexts::all() {
  std::lock_guard<std::mutex> lock(mutex_);
  return contexts_;
}

}  // namespace cuvein
