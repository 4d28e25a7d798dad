// Deflating the payloads of chunks, beside the thread that packs records where there are many.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/codec.h"

namespace cuvein::trace {

// Appends the bytes, deflated when that makes them fewer, and returns how many were appended.
uint32_t append_deflated(std::vector<unsigned char>* out, const unsigned char* data, size_t bytes);

// The payload of a records chunk, appended.
void append_records(std::vector<unsigned char>* out, const PackedRecords& records);

// Deflates chunks of records in threads of its own and gives them back in order. Deflate takes several times
// as long as packing, and a ring that is not drained stops the GPU. One thread at a time uses an object.
class Deflater {
 public:
  struct Chunk {
    PackedRecords records;
    std::vector<unsigned char> payload;
    bool done = false;
    bool failed = false;  // for want of memory
  };

  Deflater();
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void put(PackedRecords&& records);
  bool empty() const { return order_.empty(); }
  bool busy() const { return order_.size() > threads_.size(); }
  bool ready();  // the oldest chunk can be had without waiting
  std::unique_ptr<Chunk> take();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable todo_changed_, done_changed_;
  std::deque<std::unique_ptr<Chunk>> order_;  // all that were put and not taken; only the caller changes it
  std::deque<Chunk*> todo_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cuvein::trace
