// open_launches [STREAMS] [COUNT]: one kernel holds up COUNT launches in each of the streams, until the host
// has made them all and lets it go. Every launch of `increment`: read cold 128, write thread 128.
#include <atomic>
#include <chrono>
#include <thread>

#include "common.h"

__global__ void hold(const volatile int* flag) {
  while (*flag == 0) {
  }
}

__global__ void increment(int* words) {
  const int value = words[threadIdx.x];  // @read
  words[threadIdx.x] = value + 1;        // @write
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int count_of_streams = arguments.number("streams", 6);
  const int count = arguments.number("count", 400);
  arguments.done();

  int *flag = nullptr, *on_device = nullptr;
  CHECK(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
  *static_cast<volatile int*>(flag) = 0;
  CHECK(cudaHostGetDevicePointer(&on_device, flag, 0));
  cudaStream_t holding;
  CHECK(cudaStreamCreateWithFlags(&holding, cudaStreamNonBlocking));
  cudaEvent_t held;
  CHECK(cudaEventCreateWithFlags(&held, cudaEventDisableTiming));
  std::vector<cudaStream_t> streams(static_cast<size_t>(count_of_streams));
  std::vector<Array<int>*> words;
  // Lazy loading of a kernel synchronises, and so does memory that a tool needs: nothing waits yet.
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, hold));
  for (cudaStream_t& stream : streams) {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    words.push_back(new Array<int>(std::vector<int>(32, 0)));
    increment<<<1, 32, 0, stream>>>(words.back()->get());
  }
  CHECK_KERNEL();

  std::atomic<bool> made{false};
  // Should the driver take no more launches before all are made, the ones so far are let go.
  std::thread patience([&] {
    for (int i = 0; i < 500 && !made; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    *static_cast<volatile int*>(flag) = 1;
  });
  hold<<<1, 1, 0, holding>>>(on_device);
  CHECK(cudaEventRecord(held, holding));
  for (const cudaStream_t stream : streams) CHECK(cudaStreamWaitEvent(stream, held, 0));
  for (int i = 1; i < count; ++i)
    for (size_t s = 0; s < streams.size(); ++s) increment<<<1, 32, 0, streams[s]>>>(words[s]->get());
  made = true;
  patience.join();
  CHECK_KERNEL();
  bool good = true;
  for (Array<int>* array : words) {
    good = agree("words", array->host(), std::vector<int>(32, count)) && good;
    delete array;
  }
  return finish(good);
}
