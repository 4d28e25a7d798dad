// Memory that kernels may touch: what is alive, and what of it a launch is told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/vocabulary.h"

namespace cuvein {

struct Allocation {
  uint64_t address;
  uint64_t size;
  AllocationKind kind;
  std::string name;  // of a variable of a module; empty: none
};

// The allocations alive at some moment, by address, with their spelling in a launch document. Shared by all
// launches between two changes, so that many launches over many allocations cost little.
class AllocationList {
 public:
  explicit AllocationList(std::vector<Allocation> allocations) : allocations_(std::move(allocations)) {}

  const std::vector<Allocation>& allocations() const { return allocations_; }
  const std::string& json() const;  // made at its first use

 private:
  const std::vector<Allocation> allocations_;
  mutable std::once_flag once_;
  mutable std::string json_;
};

class Allocations {
 public:
  void add(const Allocation& allocation);
  void remove(uint64_t address);
  void remove_range(uint64_t address, uint64_t size);  // all that start in it

  // What is alive now. Of more than kMost allocations the nearest neighbours of a kind are reported as one.
  std::shared_ptr<const AllocationList> list();

 private:
  static constexpr size_t kMost = 2048;

  std::mutex mutex_;
  std::map<uint64_t, Allocation> alive_;
  std::shared_ptr<const AllocationList> list_;  // null after a change
};

}  // namespace cuvein
