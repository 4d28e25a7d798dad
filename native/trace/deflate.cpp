#include "trace/deflate.h"

#include <signal.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

#include "trace/format.h"

namespace cuvein::trace {
namespace {

constexpr int kLevel = 1;  // must keep up with the ring

// Deflate takes long to find out that it can do nothing, so a sample is asked first.
constexpr size_t kSampleBytes = 16u << 10;

constexpr unsigned kMostThreads = 4;

bool worth_deflating(const unsigned char* data, size_t bytes) {
  if (bytes <= 2 * kSampleBytes) return true;
  unsigned char shrunk[kSampleBytes - kSampleBytes / 16];
  uLongf stored = sizeof(shrunk);
  return compress2(shrunk, &stored, data + bytes / 2, kSampleBytes, kLevel) == Z_OK;
}

}  // namespace

uint32_t append_deflated(std::vector<unsigned char>* out, const unsigned char* data, size_t bytes) {
  const size_t before = out->size();
  if (bytes > 0 && worth_deflating(data, bytes)) {
    uLongf stored = compressBound(static_cast<uLong>(bytes));
    out->resize(before + stored);
    if (compress2(out->data() + before, &stored, data, static_cast<uLong>(bytes), kLevel) == Z_OK &&
        stored < bytes) {
      out->resize(before + stored);
      return static_cast<uint32_t>(stored);
    }
    out->resize(before);
  }
  out->insert(out->end(), data, data + bytes);
  return static_cast<uint32_t>(bytes);
}

void append_records(std::vector<unsigned char>* out, const PackedRecords& records) {
  const size_t at = out->size();
  out->resize(at + sizeof(RecordsHeader));
  RecordsHeader header{};
  header.tokens = static_cast<uint32_t>(records.token_bytes);
  header.lanes = static_cast<uint32_t>(records.lane_bytes);
  header.tokens_stored = append_deflated(out, records.tokens.data(), records.token_bytes);
  header.lanes_stored = append_deflated(out, records.lanes.data(), records.lane_bytes);
  std::memcpy(out->data() + at, &header, sizeof(header));
}

Deflater::Deflater() {
  const unsigned count = std::clamp(std::thread::hardware_concurrency() / 2, 1u, kMostThreads);
  // The program under test may handle signals, which must not happen in a thread it knows nothing of.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system has no more threads; put() does without.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Deflater::~Deflater() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  todo_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Deflater::put(PackedRecords&& records) {
  order_.push_back(std::make_unique<Chunk>());
  Chunk* chunk = order_.back().get();
  chunk->records = std::move(records);
  if (threads_.empty()) {
    append_records(&chunk->payload, chunk->records);
    chunk->done = true;
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    todo_.push_back(chunk);
  }
  todo_changed_.notify_one();
}

bool Deflater::ready() {
  if (order_.empty()) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  return order_.front()->done;
}

std::unique_ptr<Deflater::Chunk> Deflater::take() {
  std::unique_ptr<Chunk> chunk = std::move(order_.front());
  order_.pop_front();
  std::unique_lock<std::mutex> lock(mutex_);
  done_changed_.wait(lock, [&] { return chunk->done; });
  return chunk;
}

void Deflater::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    todo_changed_.wait(lock, [&] { return stop_ || !todo_.empty(); });
    if (stop_) return;
    Chunk* chunk = todo_.front();
    todo_.pop_front();
    lock.unlock();
    try {
      append_records(&chunk->payload, chunk->records);
    } catch (const std::bad_alloc&) {
      chunk->failed = true;
    }
    lock.lock();
    chunk->done = true;
    done_changed_.notify_all();
  }
}

}  // namespace cuvein::trace
