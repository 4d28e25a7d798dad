#include "monitor/journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "profile/write.h"

namespace cuvein {

// The layout, which journal.py reads: the head, the entries, the profiles.
struct Journal::Head {
  char magic[16];
  uint32_t entries;
  uint32_t reserved;
};
struct Journal::Entry {
  uint64_t offset, bytes;  // from the start of the file
  uint32_t sequence;
  uint32_t whole;  // a Kind: all of it is there, and it has no file yet
};

namespace {

constexpr char kMagic[] = "cuvein journal 2";
constexpr int kEntries = 1024;
constexpr uint64_t kDataOffset = 32768;
constexpr uint64_t kSize = uint64_t{4} << 20;

}  // namespace

std::unique_ptr<Journal> Journal::create(const std::string& path) {
  static_assert(sizeof kMagic == sizeof(Head::magic) + 1);
  static_assert(sizeof(Head) + kEntries * sizeof(Entry) <= kDataOffset);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  // Room is taken now: memory without it would end the program when it is written to.
  if (reserve_quietly(file, kSize))
    memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) {
    ::unlink(path.c_str());
    return nullptr;
  }
  auto* head = static_cast<Head*>(memory);
  head->entries = kEntries;
  std::memcpy(head->magic, kMagic, sizeof head->magic);
  return std::unique_ptr<Journal>(new Journal(path, static_cast<char*>(memory)));
}

Journal::Journal(std::string path, char* memory)
    : path_(std::move(path)), memory_(memory), next_(kDataOffset) {
  for (int number = kEntries; number > 0;) free_.push_back(--number);
}

Journal::~Journal() {
  ::munmap(memory_, kSize);
  if (taken_.empty()) ::unlink(path_.c_str());
}

Journal::Entry* Journal::entry(int number) const {
  return reinterpret_cast<Entry*>(memory_ + sizeof(Head)) + number;
}

// Behind what was put there last, or from the start on.
bool Journal::find_room(uint64_t bytes, uint64_t* offset) const {
  for (const uint64_t from : {next_, kDataOffset}) {
    uint64_t start = from;
    auto used = taken_.upper_bound(start);
    if (used != taken_.begin()) --used;
    for (; used != taken_.end() && used->first < start + bytes; ++used)
      start = std::max(start, used->first + used->second);
    if (start + bytes > kSize) continue;
    *offset = start;
    return true;
  }
  return false;
}

int Journal::keep(Kind kind, uint32_t sequence, const std::string& content) {
  uint64_t offset = 0;
  int number;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty() || !find_room(content.size(), &offset)) return -1;
    number = free_.back();
    free_.pop_back();
    taken_[offset] = content.size();
    next_ = offset + content.size();
    entry(number)->bytes = content.size();
    entry(number)->offset = offset;
    entry(number)->sequence = sequence;
  }
  std::memcpy(memory_ + offset, content.data(), content.size());
  __atomic_store_n(&entry(number)->whole, static_cast<uint32_t>(kind), __ATOMIC_RELEASE);
  return number;
}

void Journal::drop(int number) {
  std::lock_guard<std::mutex> lock(mutex_);
  __atomic_store_n(&entry(number)->whole, 0u, __ATOMIC_RELEASE);
  taken_.erase(entry(number)->offset);
  entry(number)->bytes = 0;
  free_.push_back(number);
}

}  // namespace cuvein
