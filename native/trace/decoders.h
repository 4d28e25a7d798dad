// Threads that decode chunks.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/frame.h"

namespace cuvein::trace {

class Decoders {
 public:
  explicit Decoders(unsigned count);  // as many of them as the system lets it have, maybe none
  ~Decoders();
  Decoders(const Decoders&) = delete;
  Decoders& operator=(const Decoders&) = delete;

  size_t count() const { return threads_.size(); }
  // The frame must stay where it is until it was waited for.
  void start(Frame* frame);
  void wait(Frame* frame);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable started_, finished_;
  std::deque<Frame*> waiting_;
  bool stop_ = false;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace cuvein::trace
