#include "analyzer/shadow.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

namespace cuvein {

namespace {

constexpr size_t kRegionBytes = size_t{64} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

size_t machine_memory() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Memory that the pools keep for the next launch, all together; beyond it, it goes back to the system.
std::atomic<size_t> kept_bytes{0};

bool keep(size_t bytes) {
  if (kept_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= machine_memory() / 16) return true;
  kept_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

// Clears memory, by giving back the pages that lie wholly in it.
void give_back(void* memory, size_t bytes) {
  constexpr uintptr_t page = 4096;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory), end = begin + bytes;
  const uintptr_t first = (begin + page - 1) & ~(page - 1), last = end & ~(page - 1);
  if (first < last && madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) == 0) {
    std::memset(memory, 0, first - begin);
    std::memset(reinterpret_cast<void*>(last), 0, end - last);
  } else {
    std::memset(memory, 0, bytes);
  }
}

// Huge pages make scattered accesses several times faster, but take memory that sparse accesses do not need.
// So only a part of the machine's memory is given out that way.
bool take_huge(size_t bytes) {
  static std::atomic<size_t> taken{0};
  return taken.fetch_add(bytes, std::memory_order_relaxed) + bytes <= machine_memory() / 4;
}

}  // namespace

ShadowPool::ShadowPool(unsigned chunk_bits, bool huge_pages)
    : chunk_bits_(chunk_bits),
      tiles_(1u << (chunk_bits - kTileBits)),
      chunk_source_(huge_pages),
      entry_source_(huge_pages),
      fine_source_(huge_pages) {}

ShadowPool::~ShadowPool() {
  for (const Free<Chunk>& free : free_chunks_) {
    if (free.kept) kept_bytes -= chunk_bytes();
    delete free.piece;
  }
  for (const Free<Origin>& free : free_entries_)
    if (free.kept) kept_bytes -= entry_bytes();
}

ShadowPool::Source::~Source() {
  for (void* region : regions_) munmap(region, kRegionBytes + kHugePage);
}

// Pages are mapped when they are first touched, and come zeroed.
void* ShadowPool::Source::carve(size_t bytes) {
  if (left_ < bytes) {
    void* region = mmap(nullptr, kRegionBytes + kHugePage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) throw std::bad_alloc();
    regions_.push_back(region);
    next_ = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(region) + kHugePage - 1) & ~(kHugePage - 1));
    left_ = kRegionBytes;
    if (huge_pages_ && take_huge(kRegionBytes)) madvise(next_, kRegionBytes, MADV_HUGEPAGE);
  }
  void* result = next_;
  next_ += bytes;
  left_ -= bytes;
  return result;
}

Chunk* ShadowPool::take(uint64_t key) {
  Chunk* chunk;
  if (!free_chunks_.empty()) {
    chunk = free_chunks_.back().piece;
    if (free_chunks_.back().kept) kept_bytes -= chunk_bytes();
    free_chunks_.pop_back();
  } else {
    char* memory = static_cast<char*>(chunk_source_.carve(tiles_ * (sizeof(Origin) + 1)));
    chunk = new Chunk{0,
                      reinterpret_cast<uint8_t*>(memory + tiles_ * sizeof(Origin)),
                      reinterpret_cast<Origin*>(memory),
                      nullptr,
                      0,
                      false};
  }
  chunk->key = key;
  return chunk;
}

void ShadowPool::take_entries(Chunk* chunk) {
  if (!free_entries_.empty()) {
    chunk->entries = free_entries_.back().piece;
    if (free_entries_.back().kept) kept_bytes -= entry_bytes();
    free_entries_.pop_back();
  } else {
    chunk->entries = static_cast<Origin*>(entry_source_.carve(tiles_ * kWordsPerTile * sizeof(Origin)));
  }
}

void ShadowPool::give(Chunk* chunk) {
  if (chunk->entries != nullptr) {
    const bool kept = keep(entry_bytes());
    if (kept && chunk->words_only) std::memset(chunk->entries, 0, entry_bytes());
    for (unsigned index = 0; index < tiles_ && !chunk->words_only; ++index) {
      const Tile tile{chunk, index};
      const unsigned state = tile.state() & kTileStateMask;
      if (state == kTileBytes1 || state == kTileBytes2)
        give_fine(reinterpret_cast<Origin*>(tile.words()[0].who));
      if (kept && tile.state() & kDirty) std::memset(tile.words(), 0, kWordsPerTile * sizeof(Origin));
    }
    if (!kept) give_back(chunk->entries, entry_bytes());
    free_entries_.push_back({chunk->entries, kept});
    chunk->entries = nullptr;
  }
  const bool kept = keep(chunk_bytes());
  std::memset(chunk->states, 0, tiles_);
  if (!kept) give_back(chunk->origins, chunk_bytes());
  chunk->opened = 0;
  chunk->words_only = false;
  free_chunks_.push_back({chunk, kept});
}

Origin* ShadowPool::take_fine() {
  if (!free_fine_.empty()) {
    Origin* entries = free_fine_.back();
    free_fine_.pop_back();
    return entries;
  }
  return static_cast<Origin*>(fine_source_.carve(kTileBytes * sizeof(Origin)));
}

void Shadow::grow() {
  std::vector<Slot> old(std::max<size_t>(16, table_.size() * 2));
  old.swap(table_);
  slot_shift_ = static_cast<unsigned>(64 - __builtin_ctzll(table_.size()));
  for (const Slot& slot : old) {
    if (slot.chunk == nullptr) continue;
    size_t at = slot_of(slot.key);
    while (table_[at].chunk != nullptr) at = (at + 1) & (table_.size() - 1);
    table_[at] = slot;
  }
}

Chunk* Shadow::find(uint64_t key) {
  if (table_.empty()) grow();
  size_t at = slot_of(key);
  while (table_[at].chunk != nullptr) {
    if (table_[at].key == key) return last_ = table_[at].chunk;
    at = (at + 1) & (table_.size() - 1);
  }
  Chunk* chunk = pool_.take(key);
  table_[at] = {key, chunk};
  if (++used_ * 2 > table_.size()) grow();
  return last_ = chunk;
}

Entries Shadow::refine(Tile tile, unsigned shift) {
  uint8_t& state = tile.state();
  const unsigned now = state & kTileStateMask;
  if (tile.chunk->entries == nullptr) pool_.take_entries(tile.chunk);
  Origin* words = tile.words();
  if (now <= kTileEven16) {  // the entries of an empty tile are zero already
    const unsigned width = now == kTileEven2 ? std::min(shift, 1u) : now == kTileEmpty ? 2 : shift;
    Origin* entries = width == 2 ? words : pool_.take_fine();
    if (now != kTileEmpty) {
      const Origin origin = tile.origin();
      for (unsigned i = 0; i < kTileBytes >> width; ++i)
        entries[i] = {origin.who + (i << width >> now), origin.what};
    }
    if (width != 2) words[0].who = reinterpret_cast<uint64_t>(entries);
    state = static_cast<uint8_t>((kTileBytes1 + width) | kDirty);
    describe_otherwise(tile.chunk);
    if (width <= shift) return {entries, width};
  }
  const unsigned width = (state & kTileStateMask) - kTileBytes1;
  if (width == 2) {
    if (shift == 2) return {words, 2};
    Origin* finer = pool_.take_fine();
    const unsigned count = kTileBytes >> shift;
    for (unsigned i = 0; i < count; ++i) finer[i] = words[i >> (2 - shift)];
    words[0].who = reinterpret_cast<uint64_t>(finer);
    state = static_cast<uint8_t>((kTileBytes1 + shift) | kDirty);
    describe_otherwise(tile.chunk);
    return {finer, shift};
  }
  Origin* entries = fine(tile);
  if (width <= shift) return {entries, width};
  for (unsigned i = kTileBytes; i-- > 0;)
    entries[i] = entries[i >> 1];  // 2-byte entries to 1-byte ones, in place
  state = kTileBytes1 | kDirty;
  return {entries, 0};
}

void Shadow::open_all(Chunk* chunk) {
  const unsigned tiles = 1u << (pool_.chunk_bits() - kTileBits);
  for (unsigned index = 0; index < tiles; ++index) {
    const unsigned state = chunk->states[index] & kTileStateMask;
    if (state != kTileEmpty && state != kTileWords) return;
  }
  std::memset(chunk->states, kTileWords | kDirty, tiles);
  set_words_only(chunk, true);
}

void Shadow::set_words_only(Chunk* chunk, bool words_only) {
  chunk->words_only = words_only;
  version_ += !words_only;
  if (words_only) {
    if (plain_.empty()) first_plain_ = chunk->key;
    const uint64_t first = std::min(first_plain_, chunk->key);
    const uint64_t end = std::max(first_plain_ + plain_.size(), chunk->key + 1);
    if (end - first > kMostPlain) return;
    plain_.insert(plain_.begin(), first_plain_ - first, nullptr);
    plain_.resize(end - first);
    first_plain_ = first;
  }
  const uint64_t place = chunk->key - first_plain_;
  if (place < plain_.size()) plain_[place] = words_only ? chunk->entries : nullptr;
}

// Bytes of one chunk; both ends are local addresses.
void Shadow::forget_in_chunk(Chunk* chunk, uint64_t local, uint64_t end) {
  while (local < end) {
    const Tile tile{chunk, tile_of(local)};
    const unsigned from = local & (kTileBytes - 1);
    const unsigned to = static_cast<unsigned>(std::min<uint64_t>(kTileBytes, from + (end - local)));
    local += to - from;
    if ((tile.state() & kTileStateMask) == kTileEmpty) continue;
    if (from == 0 && to == kTileBytes) {
      if (is_fine(tile.state())) give_fine(tile);
      if (tile.state() & kDirty) std::memset(tile.words(), 0, kWordsPerTile * sizeof(Origin));
      tile.state() = kTileEmpty;
      describe_otherwise(chunk);
      continue;
    }
    const unsigned low_bits = from | to;
    const Entries entries = this->entries(tile, low_bits & 1 ? 0 : low_bits & 2 ? 1 : 2);
    for (unsigned i = from >> entries.shift; i < to >> entries.shift; ++i) entries.first[i] = Origin{};
  }
}

void Shadow::forget(uint64_t address, uint64_t bytes) {
  if (bytes == 0) return;
  const uint64_t last = address + bytes - 1;
  constexpr uint64_t within = AddressShare::kGranule - 1;
  // Of a large range few chunks exist: go through those instead of through the range.
  for (const auto& [_, chunk] : table_) {
    if (chunk == nullptr) continue;
    const unsigned row_bits = pool_.chunk_bits() - AddressShare::kGranuleBits;
    const uint64_t first_row = chunk->key << row_bits;
    for (uint64_t row = first_row; row < first_row + (uint64_t{1} << row_bits); ++row) {
      const uint64_t granule = share_.granule_of_row(row);
      if (granule > last || (granule | within) < address) continue;
      const uint64_t low = std::max(granule, address), high = std::min(granule | within, last);
      const uint64_t local = row << AddressShare::kGranuleBits;
      forget_in_chunk(chunk, local | (low & within), (local | (high & within)) + 1);
    }
  }
}

void Shadow::clear() {
  if (used_ == 0) return;
  for (auto& [_, chunk] : table_) {
    if (chunk == nullptr) continue;
    pool_.give(chunk);
    chunk = nullptr;
  }
  used_ = 0;
  last_ = nullptr;
  plain_.clear();
}

}  // namespace cuvein
