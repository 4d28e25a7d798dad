// Memory that kernels may touch: what is alive, and what of it a launch is told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/vocabulary.h"
#include "monitor/call_site.h"
#include "monitor/patience.h"

namespace cuvein {

// What is known of an array that a framework keeps in a part of an allocation. The framework may say what it
// is after the first kernel that uses it was launched.
class Tensor {
 public:
  // What it is said to be first stays: others are views of it.
  void name(const std::string& dtype, const std::vector<int64_t>& shape);
  // What it is if it outlives what made it: expected, and then either kept or gone.
  void expect(const std::string& dtype, const std::vector<int64_t>& shape);
  void expect(const std::string& name);  // of the kinds that it may be of
  void keep();
  // Its memory was given back, within the operator that it was made in; empty: after that, or not known.
  void gone(const std::string& op);
  // Waits until it is known whether it is what is expected, as long as patience lasts. What has been waited
  // for in vain is not waited for again: a pass may have ended with it.
  void await(const Patience& patience) const;
  // As JSON, `{"shape":[..],"dtype":".."}`; empty while not known.
  std::string facts() const;

 private:
  mutable std::mutex mutex_;
  std::string facts_;
  std::string expected_;
  Patience::Clock::time_point expected_at_;
  mutable bool in_vain_ = false;
};

struct Allocation {
  uint64_t address;
  uint64_t size;
  AllocationKind kind;
  std::string name;  // of a variable of a module; empty: none
  std::shared_ptr<const CallSite> site;
  std::shared_ptr<Tensor> tensor;
  int parent = -1;  // in the list: of a tensor
};

// What is known of an allocation itself, as it stands in a launch document.
std::string allocation_text(const Allocation& allocation);

// The allocations alive at some moment, by address, a tensor after what it lies in. Shared by all launches
// between two changes, so that many launches over many allocations cost little.
class AllocationList {
 public:
  explicit AllocationList(std::vector<Allocation> allocations) : allocations_(std::move(allocations)) {}

  const std::vector<Allocation>& allocations() const { return allocations_; }

  // Their spelling in a launch document, which numbers their sites as *sites does. Where `wanted` is given,
  // all others are null.
  std::string json(CallSiteTable* sites, const std::vector<bool>* wanted) const;

  // The same of all; made at its first use.
  const std::string& json() const;
  const CallSiteTable& sites() const { return sites_; }  // of json()
  // The same as a part of a CountedLaunch; empty: they are many, or more is to be said of them than what they
  // are.
  const std::string& packed() const;
  // Waits for the names of tensors that are about to be known.
  void await_names(const Patience& patience) const;
  // What has become known of tensors since json() was made, as a list of
  // {"allocation":..,"shape":..,"dtype":..}; empty: nothing.
  std::string amendments() const;

 private:
  static constexpr size_t kMostPacked = 256;

  const std::vector<Allocation> allocations_;
  mutable std::once_flag packed_once_;
  mutable std::string packed_;
  mutable std::once_flag once_;
  mutable std::string json_;
  mutable CallSiteTable sites_;
  mutable std::vector<int> unnamed_;  // tensors of which json_ says nothing
};

// The analyzer has a class of this name, too, and both end up in one library.
inline namespace observed {

class Allocations {
 public:
  void add(const Allocation& allocation);
  void remove(uint64_t address);
  void remove_range(uint64_t address, uint64_t size);  // all that start in it

  // Tensors. One that is created takes the place of those it overlaps: that they are gone was missed.
  void create_tensor(uint64_t address, uint64_t size, std::shared_ptr<const CallSite> site);
  // False when there is no tensor of this size; an array that is only a part of it is a view.
  bool name_tensor(uint64_t address, uint64_t size, const std::string& dtype,
                   const std::vector<int64_t>& shape);
  void destroy_tensor(uint64_t address, const std::string& op);  // see Tensor::gone
  // Where a tensor was made of which nothing is known; null: there is none.
  std::shared_ptr<const CallSite> maker_of_unnamed(uint64_t address);
  // The same of an allocation that an array has for itself.
  bool name_allocation(uint64_t address, uint64_t size, const std::string& dtype,
                       const std::vector<int64_t>& shape);
  // Null when there is none of this size.
  std::shared_ptr<Tensor> tensor(uint64_t address, uint64_t size);

  // What is alive now. Of more than kMost allocations the nearest neighbours of a kind are reported as one,
  // and of many tensors the largest are reported.
  std::shared_ptr<const AllocationList> list();

 private:
  static constexpr size_t kMost = 2048;

  void forget_tensors(uint64_t address, uint64_t size);
  void add_tensors(std::vector<Allocation>* all) const;

  std::mutex mutex_;
  std::map<uint64_t, Allocation> alive_;
  std::map<uint64_t, Allocation> tensors_;
  std::shared_ptr<const AllocationList> list_;  // null after a change
};

}  // namespace observed

}  // namespace cuvein
