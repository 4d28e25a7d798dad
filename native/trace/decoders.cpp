#include "trace/decoders.h"

#include <exception>
#include <memory>
#include <system_error>
#include <utility>

namespace cuvein::trace {

Decoders::Decoders(unsigned count) {
  try {
    while (threads_.size() < count) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // fewer do, too
  }
}

Decoders::~Decoders() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Decoders::start(Frame* frame) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    frame->done = false;
    waiting_.push_back(frame);
  }
  started_.notify_one();
}

void Decoders::wait(Frame* frame) {
  std::unique_lock<std::mutex> lock(mutex_);
  finished_.wait(lock, [frame] { return frame->done; });
  if (frame->failed) std::rethrow_exception(std::exchange(frame->failed, nullptr));
}

void Decoders::work() {
  std::unique_ptr<RecordDecoder> decoder;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    started_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    Frame* const frame = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    try {
      frame->decode(&decoder);
    } catch (...) {  // no memory; the caller is told
      frame->failed = std::current_exception();
    }
    lock.lock();
    frame->done = true;
    finished_.notify_all();
  }
}

}  // namespace cuvein::trace
