// Shadow memory: for every byte the origin of its most recent access.
//
// Addresses are divided into tiles of 128 bytes. A tile that one warp access covered evenly (lane after lane,
// 4, 8 or 16 bytes each) is described by one origin. Any other tile has an entry a 4-byte word, or, once an
// access was finer than that, an entry for 2 bytes or 1. Tiles live in chunks that are found by hashing, so
// that no address is too far off and no allocation needs to be known beforehand.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/hash.h"
#include "analyzer/origin.h"

namespace cuvein {

constexpr unsigned kTileBits = 6;
constexpr unsigned kTileBytes = 1u << kTileBits;
constexpr unsigned kWordsPerTile = kTileBytes / 4;

// How a tile is described. The low bits of its state byte; kDirty says that its word entries are not all
// zero.
enum TileState : uint8_t {
  kTileEmpty = 0,
  kTileEven2 = 1,  // one origin; byte b belongs to lane (origin's lane) + (b >> state)
  kTileEven4 = 2,
  kTileEven8 = 3,
  kTileEven16 = 4,
  kTileBytes1 = 5,  // entries of 1 << (state - kTileBytes1) bytes
  kTileBytes2 = 6,
  kTileWords = 7,
  kTileStateMask = 7,
  kDirty = 8,
};

struct Chunk {
  uint64_t key;
  uint8_t* states;
  Origin* origins;
  Origin* entries;  // kWordsPerTile a tile; null until a tile needs them
  uint32_t opened;  // tiles that went from empty to words
  bool words_only;  // every tile is kTileWords, so nobody needs to look at the states
};

// Memory for the shadows of one worker: chunks of one size, their entries, and the finer entries of single
// tiles. What is given back is used again; beyond a limit its pages go back to the system.
class ShadowPool {
 public:
  ShadowPool(unsigned chunk_bits, bool huge_pages);
  ~ShadowPool();
  ShadowPool(const ShadowPool&) = delete;
  ShadowPool& operator=(const ShadowPool&) = delete;

  unsigned chunk_bits() const { return chunk_bits_; }
  Chunk* take(uint64_t key);
  void take_entries(Chunk* chunk);
  void give(Chunk* chunk);  // cleans it
  Origin* take_fine();      // kTileBytes entries
  void give_fine(Origin* entries) { free_fine_.push_back(entries); }

 private:
  // Pieces of one size cut from larger mappings.
  class Source {
   public:
    explicit Source(bool huge_pages) : huge_pages_(huge_pages) {}
    ~Source();
    void* carve(size_t bytes);

   private:
    const bool huge_pages_;
    std::vector<void*> regions_;
    char* next_ = nullptr;
    size_t left_ = 0;
  };

  const unsigned chunk_bits_;
  const unsigned tiles_;
  Source chunk_source_, entry_source_, fine_source_;
  template <typename Piece>
  struct Free {
    Piece* piece;
    bool kept;  // its pages were not given back to the system
  };

  // Bytes of a chunk's origins and of its entries.
  size_t chunk_bytes() const { return tiles_ * sizeof(Origin); }
  size_t entry_bytes() const { return tiles_ * kWordsPerTile * sizeof(Origin); }

  std::vector<Free<Chunk>> free_chunks_;
  std::vector<Free<Origin>> free_entries_;
  std::vector<Origin*> free_fine_;
};

// A tile in its chunk.
struct Tile {
  Chunk* chunk;
  unsigned index;

  uint8_t& state() const { return chunk->states[index]; }
  Origin& origin() const { return chunk->origins[index]; }
  Origin* words() const { return chunk->entries + index * kWordsPerTile; }
};

// Entries of a tile and the width of one, as a shift.
struct Entries {
  Origin* first;
  unsigned shift;
};

class Shadow {
 public:
  explicit Shadow(ShadowPool& pool) : pool_(pool) {}
  ~Shadow() { clear(); }
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // The tile with this number (address >> kTileBits), made when there is none.
  Tile tile(uint64_t number) {
    const unsigned bits = pool_.chunk_bits() - kTileBits;
    return {chunk(number >> bits), static_cast<unsigned>(number & ((uint64_t{1} << bits) - 1))};
  }
  Chunk* chunk(uint64_t key) {
    if (last_ != nullptr && last_->key == key) return last_;
    if (!table_.empty()) {
      const Slot& slot = table_[slot_of(key, table_.size())];
      if (slot.key == key && slot.chunk != nullptr) return last_ = slot.chunk;
    }
    return find(key);
  }

  // Entries no wider than 1 << shift (0, 1 or 2) for a tile, whatever described it before.
  Entries entries(Tile tile, unsigned shift) {
    const unsigned state = tile.state() & kTileStateMask;
    if (state == kTileWords && shift == 2) return {tile.words(), 2};
    return refine(tile, shift);
  }

  // The chunk with this key, or null when there is none.
  Chunk* lookup(uint64_t key) const {
    if (table_.empty()) return nullptr;
    for (size_t at = slot_of(key, table_.size());; at = (at + 1) & (table_.size() - 1))
      if (table_[at].key == key || table_[at].chunk == nullptr) return table_[at].chunk;
  }
  uint64_t key_of(uint64_t address) const { return address >> pool_.chunk_bits(); }
  Tile tile_in(Chunk* chunk, uint64_t address) const {
    return {chunk,
            static_cast<unsigned>(address >> kTileBits & ((1u << (pool_.chunk_bits() - kTileBits)) - 1))};
  }

  // An empty tile's entries, which are all zero, become valid; with many of them the whole chunk's do.
  void open(Tile tile) {
    tile.state() = kTileWords | kDirty;
    if (++tile.chunk->opened == kManyOpened) open_all(tile.chunk);
  }

  // Describes a whole tile by one origin.
  void set_even(Tile tile, TileState state, const Origin& origin) {
    uint8_t& now = tile.state();
    if (is_fine(now)) give_fine(tile);
    now = static_cast<uint8_t>((now & kDirty) | state);
    tile.origin() = origin;
    tile.chunk->words_only = false;
  }

  void forget(uint64_t address, uint64_t bytes);  // these bytes were never accessed
  void clear();                                   // no byte was
  size_t chunks() const { return used_; }

 private:
  static constexpr uint32_t kManyOpened = 1024;

  static bool is_fine(uint8_t state) {
    return (state & kTileStateMask) == kTileBytes1 || (state & kTileStateMask) == kTileBytes2;
  }
  static Origin* fine(Tile tile) { return reinterpret_cast<Origin*>(tile.words()[0].who); }
  void give_fine(Tile tile) { pool_.give_fine(fine(tile)); }
  static size_t slot_of(uint64_t key, size_t slots) { return (mix(key) >> 20) & (slots - 1); }
  Chunk* find(uint64_t key);
  Entries refine(Tile tile, unsigned shift);
  void open_all(Chunk* chunk);
  void forget_in_chunk(Chunk* chunk, uint64_t address, uint64_t end);
  void grow();

  ShadowPool& pool_;
  Chunk* last_ = nullptr;
  struct Slot {
    uint64_t key;
    Chunk* chunk;  // null: free
  };
  std::vector<Slot> table_;  // open addressing, at most half full
  size_t used_ = 0;
};

}  // namespace cuvein
