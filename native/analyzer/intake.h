// Takes records in: checks them, copies them, and cuts them into stretches.
//
// That is done by the thread that hands over, with the help of the workers that have nothing else to do: it
// runs ahead from record to record and offers what lies behind it in parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/batch.h"
#include "analyzer/validation.h"
#include "analyzer/workers.h"

namespace cuvein {

class Intake {
 public:
  explicit Intake(const LaunchesBySequence& launches) : launches_(launches) {}

  // Checks all records and copies them to `to` unless it is null. Returns false when one is invalid.
  bool take(const unsigned char* records, size_t bytes, unsigned char* to, Workers& team);
  // For the team.
  void take_part(uint64_t part) noexcept;

  // Of the last call: where stretches begin, counted from the first record.
  const std::vector<Stretch>& stretches() const { return stretches_; }
  // Launches with a record that orders accesses, where that is news.
  const std::vector<Launch*>& synchronising() const { return synchronising_; }
  // The record for which it was refused, when it has all of its header.
  const std::string& refused() const { return refused_; }

 private:
  struct Part {
    size_t from, to;
    bool valid, synchronises;
  };

  void take_together(Workers& team);
  bool take_range(size_t from, size_t to, std::vector<Stretch>* stretches, bool* synchronises) const;
  void note_synchronising(size_t from, size_t to);
  void describe_first_invalid(size_t from);

  const LaunchesBySequence& launches_;
  const unsigned char* records_ = nullptr;
  size_t bytes_ = 0;
  unsigned char* to_ = nullptr;
  std::vector<Part> parts_;
  uint64_t offered_ = 0;     // parts since ever
  uint64_t first_part_ = 0;  // of this call
  std::vector<Stretch> stretches_;
  std::vector<Launch*> synchronising_;
  std::string refused_;
};

}  // namespace cuvein
