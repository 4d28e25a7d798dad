// A fixed team of threads that takes batches through three steps, several batches at a time.
//
// A batch is cut into slices. Any member decodes any slice; when all slices of a batch are decoded, each
// member takes it through the second step, and when all have, each takes it through the third. Members go
// through batches in order, and nobody waits who can do something for a later batch.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "analyzer/engine.h"
#include "analyzer/hash.h"

namespace cuvein {

// What is done with a batch; batches are numbered by their place, 0 to Workers::kBatches - 1 in turn.
class Steps {
 public:
  virtual ~Steps() = default;
  virtual void decode(unsigned worker, unsigned batch, unsigned slice) = 0;
  virtual void by_block(unsigned worker, unsigned batch) = 0;
  virtual void by_address(unsigned worker, unsigned batch) = 0;
  // Once, after the last of these, by the member that it fell to.
  virtual void close(unsigned worker, unsigned batch) = 0;
  // A part of what the thread that hands over has to do, by it or by a member; see Workers::offer.
  virtual void take_in(uint64_t part) noexcept = 0;
};

class Workers {
 public:
  // Fewer, and one member that has lost its processor keeps all the others waiting.
  static constexpr unsigned kBatches = 8;
  using Job = std::function<void(unsigned worker)>;

  // Throws std::system_error when there are no threads to be had.
  Workers(unsigned count, unsigned slices, Steps& steps);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned count() const { return static_cast<unsigned>(threads_.size()); }
  // Members that have nothing to do at the moment.
  unsigned idle() const { return idle_.load(std::memory_order_relaxed); }

  // These are for one thread, which is none of the team. All but submit throw what a member threw.
  // The batch to be filled next, as soon as the team is through with it.
  unsigned next();
  // Hands that batch to the team and returns.
  void submit();
  // Until the team is through with all batches.
  void wait();
  // Offers the next part of its own work, numbered from 0 since ever, to members that have nothing else to
  // do.
  void offer();
  // Does what nobody has taken of it, and returns when all is done.
  void join_in();
  // Carries out a job on each member and returns when all have finished it.
  void each(Job job);

  // What each member has spent its time on so far.
  std::vector<WorkerTimes> times();

 private:
  using Clock = std::chrono::steady_clock;
  // How far a batch is.
  struct Progress {
    alignas(kApart) std::atomic<unsigned> taken{0};        // slices, by whoever decodes them
    alignas(kApart) std::atomic<unsigned> decoded{0};      // slices
    alignas(kApart) std::atomic<unsigned> blocks_done{0};  // members
    alignas(kApart) std::atomic<unsigned> through{0};      // members, through the third step
    std::atomic<bool> done{true};
  };
  // What a member does next.
  struct alignas(kApart) Member {
    uint64_t by_block = 0, by_address = 0, decode = 0, jobs = 0;  // batches (jobs) before this one are done
    WorkerTimes times;
  };

  void dissolve();
  void work(unsigned worker);
  bool work_once(unsigned worker, Member& member);
  template <typename Step>
  void carry_out(double* seconds, Step step);
  bool take_part();
  bool decode_one(unsigned worker, Member& member, uint64_t submitted);
  void rest(Member& member, uint64_t seen);
  void advance();
  void tell();
  template <typename Condition>
  bool look_for(Condition condition) const;
  template <typename Condition>
  void wait_until(Condition condition);
  void rethrow();
  void fail(std::exception_ptr failure);
  bool failed() const { return has_failed_.load(std::memory_order_acquire); }
  Progress& progress(uint64_t batch) { return batches_[batch % kBatches]; }

  Steps& steps_;
  const unsigned count_, slices_;
  const unsigned spins_;  // looks before one who waits goes to sleep
  std::array<Progress, kBatches> batches_;
  std::vector<Member> members_;

  alignas(kApart) std::atomic<uint64_t> submitted_{0};  // batches
  std::atomic<uint64_t> jobs_{0};
  alignas(kApart) std::atomic<uint64_t> news_{0};  // rises with whatever gives members something to do
  // Parts of the work of the thread that hands over.
  alignas(kApart) std::atomic<uint64_t> parts_{0};
  alignas(kApart) std::atomic<uint64_t> parts_taken_{0};
  alignas(kApart) std::atomic<uint64_t> parts_done_{0};
  alignas(kApart) std::atomic<unsigned> jobs_done_{0};
  std::atomic<unsigned> idle_{0};
  std::atomic<unsigned> asleep_{0};  // of the idle ones
  std::atomic<bool> waits_{false};   // the thread that hands over
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable woken_, finished_;
  Job job_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace cuvein
