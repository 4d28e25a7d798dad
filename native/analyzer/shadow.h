// Shadow memory: for every byte the origin of its most recent access.
//
// Addresses are divided into tiles of 64 bytes. A tile that one warp access covered evenly (lane after lane,
// 2, 4, 8 or 16 bytes each) is described by one origin. Any other tile has an entry a 4-byte word, or, once
// an access was finer than that, an entry for 2 bytes or 1. Tiles live in chunks that are found by hashing,
// so that no address is too far off and no allocation needs to be known beforehand.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/address_share.h"
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
  // Of the addresses that the share holds.
  explicit Shadow(ShadowPool& pool, AddressShare share = {}) : pool_(pool), share_(share) {}
  ~Shadow() { clear(); }
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // The tile of an address, made when there is none.
  __attribute__((always_inline)) Tile tile(uint64_t address) {
    const uint64_t local = share_.local(address);
    return {chunk(key_of(local)), tile_of(local)};
  }

  // Entries no wider than 1 << shift (0, 1 or 2) for a tile, whatever described it before.
  Entries entries(Tile tile, unsigned shift) {
    const unsigned state = tile.state() & kTileStateMask;
    if (state == kTileWords && shift == 2) return {tile.words(), 2};
    return refine(tile, shift);
  }

  // Starts to load what describes the word at an address; returns its entry, should the tile have an entry a
  // word, or null when it cannot have.
  const Origin* load(uint64_t address) const {
    const uint64_t local = share_.local(address);
    const Chunk* const chunk = lookup(key_of(local));
    if (chunk == nullptr || chunk->entries == nullptr) return nullptr;
    __builtin_prefetch(chunk->states + tile_of(local));
    return chunk->entries + offset_in_chunk(local) / 4;
  }

  // The entries of `words` words from this address on, when the tile has, or can have at once, an entry a
  // word; otherwise null.
  __attribute__((always_inline)) Origin* words(uint64_t address, unsigned words) {
    const Tile tile = this->tile(address);
    const unsigned word = (address & (kTileBytes - 1)) / 4;
    if ((address & 3) != 0 || word + words > kWordsPerTile || tile.chunk->entries == nullptr) return nullptr;
    if (!tile.chunk->words_only) {
      const unsigned state = tile.state() & kTileStateMask;
      if (state == kTileEmpty)
        open(tile);
      else if (state != kTileWords)
        return nullptr;
    }
    return tile.words() + word;
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
    describe_otherwise(tile.chunk);
  }

  // A tile of the chunk no longer has an entry a word.
  void describe_otherwise(Chunk* chunk) {
    if (chunk->words_only) set_words_only(chunk, false);
  }
  // The entry of the word at this address, when its chunk has entries for words only and is among those that
  // are found in no time; otherwise null.
  Origin* word(uint64_t address) const {
    const uint64_t local = share_.local(address);
    const uint64_t place = key_of(local) - first_plain_;
    if (place >= plain_.size() || plain_[place] == nullptr) return nullptr;
    return plain_[place] + offset_in_chunk(local) / 4;
  }
  // Rises when a chunk ceases to have entries for words only.
  uint64_t version() const { return version_; }

  void forget(uint64_t address, uint64_t bytes);  // these bytes were never accessed
  void clear();                                   // no byte was
  size_t chunks() const { return used_; }

 private:
  static constexpr uint32_t kManyOpened = 1024;
  static constexpr uint64_t kMostPlain = uint64_t{1} << 16;

  static bool is_fine(uint8_t state) {
    return (state & kTileStateMask) == kTileBytes1 || (state & kTileStateMask) == kTileBytes2;
  }
  static Origin* fine(Tile tile) { return reinterpret_cast<Origin*>(tile.words()[0].who); }
  void give_fine(Tile tile) { pool_.give_fine(fine(tile)); }
  // Neighbouring chunks are spread evenly, so that hardly two of them meet.
  size_t slot_of(uint64_t key) const { return key * 0x9e3779b97f4a7c15u >> slot_shift_; }
  Chunk* chunk(uint64_t key) {
    if (last_ != nullptr && last_->key == key) return last_;
    if (!table_.empty()) {
      const Slot& slot = table_[slot_of(key)];
      if (slot.key == key && slot.chunk != nullptr) return last_ = slot.chunk;
    }
    return find(key);
  }
  // The chunk with this key, or null when there is none.
  Chunk* lookup(uint64_t key) const {
    if (table_.empty()) return nullptr;
    for (size_t at = slot_of(key);; at = (at + 1) & (table_.size() - 1))
      if (table_[at].key == key || table_[at].chunk == nullptr) return table_[at].chunk;
  }
  // Of local addresses.
  uint64_t key_of(uint64_t local) const { return local >> pool_.chunk_bits(); }
  uint64_t offset_in_chunk(uint64_t local) const { return local & ((uint64_t{1} << pool_.chunk_bits()) - 1); }
  unsigned tile_of(uint64_t local) const {
    return static_cast<unsigned>(local >> kTileBits & ((1u << (pool_.chunk_bits() - kTileBits)) - 1));
  }
  Chunk* find(uint64_t key);
  Entries refine(Tile tile, unsigned shift);
  void open_all(Chunk* chunk);
  void set_words_only(Chunk* chunk, bool words_only);
  void forget_in_chunk(Chunk* chunk, uint64_t address, uint64_t end);
  void grow();

  ShadowPool& pool_;
  const AddressShare share_;
  Chunk* last_ = nullptr;
  struct Slot {
    uint64_t key;
    Chunk* chunk;  // null: free
  };
  std::vector<Slot> table_;  // open addressing, at most half full
  size_t used_ = 0;
  unsigned slot_shift_ = 0;  // 64 - log2 of the table's size
  uint64_t version_ = 0;
  // Entries of the chunks with words only, by key from first_plain_ on; null: others. Only as many as lie
  // near one another.
  std::vector<Origin*> plain_;
  uint64_t first_plain_ = 0;
};

}  // namespace cuvein
