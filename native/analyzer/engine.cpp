#include "analyzer/engine.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "analyzer/batch.h"
#include "analyzer/intake.h"
#include "analyzer/launch.h"
#include "analyzer/worker.h"
#include "analyzer/workers.h"

namespace cuvein {

namespace {

constexpr size_t kBatchPerWorker = size_t{1} << 18;
constexpr size_t kSmallestBatch = size_t{1} << 20;
constexpr size_t kLargestBatch = size_t{16} << 20;
// What a batch may take beyond its size, so that a piece of this size fits at once.
constexpr size_t kRoom = size_t{1} << 20;
constexpr unsigned kSlicesPerWorker = 4;

// Adds the time that it lives.
class Timer {
 public:
  explicit Timer(double* seconds) : seconds_(*seconds) {}
  ~Timer() { seconds_ += std::chrono::duration<double>(Clock::now() - from_).count(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  const Clock::time_point from_ = Clock::now();
};

}  // namespace

class Engine::Implementation final : public Steps {
 public:
  explicit Implementation(unsigned workers)
      : size_(std::min(kLargestBatch, std::max(kSmallestBatch, workers * kBatchPerWorker))),
        capacity_(size_ + kRoom) {
    const unsigned slices = workers == 1 ? 1 : workers * kSlicesPerWorker;
    for (unsigned number = 0; number < workers; ++number)
      workers_.push_back(std::make_unique<Worker>(number, workers));
    for (unsigned i = 0; i < Workers::kBatches; ++i)
      batches_.push_back(std::make_unique<Batch>(capacity_, workers, slices));
    team_ = std::make_unique<Workers>(workers, slices, *this);
    fill_next();
  }

  ~Implementation() override {
    try {
      finish();
    } catch (...) {  // nobody is left to be told
    }
  }

  void begin(const LaunchShape& shape) {
    demand_whole();
    auto launch = std::make_unique<Launch>(shape, team_->count());
    if (!launches_.emplace(shape.sequence, std::move(launch)).second)
      throw std::invalid_argument("launch " + std::to_string(shape.sequence) +
                                  " has begun already; end it before it begins anew");
  }

  bool consume(const unsigned char* records, size_t bytes) {
    demand_whole();
    try {
      return take(records, bytes);
    } catch (...) {
      fail();
      throw;
    }
  }

  Graph end(uint32_t sequence) {
    const auto found = launches_.find(sequence);
    if (found == launches_.end())
      throw std::invalid_argument("launch " + std::to_string(sequence) +
                                  " has not begun or has ended already");
    Launch& launch = *found->second;
    try {
      finish();
    } catch (...) {
      fail();
    }
    if (failure_ != nullptr) {
      launches_.erase(found);
      demand_whole();
    }
    const Timer timer(&times_.ending);
    Graph graph = launch.graph();
    // Each worker cleans what it used; it is much for large launches only.
    if (team_->count() > 1 && launch.large())
      team_->each([&launch](unsigned worker) { launch.drop_part(worker); });
    launches_.erase(found);
    return graph;
  }

  const std::string& refused() const { return intake_.refused(); }
  std::vector<WorkerTimes> worker_times() { return team_->times(); }
  const CallerTimes& caller_times() const { return times_; }

 private:
  bool take(const unsigned char* records, size_t bytes) {
    if (filling_->bytes >= size_) submit();
    // What has room is copied while it is checked, and is at hand for that; else all is checked first.
    const bool fits = bytes <= capacity_ - filling_->bytes;
    {
      const Timer timer(&times_.checking);
      unsigned char* const to = fits ? filling_->records.get() + filling_->bytes : nullptr;
      if (!intake_.take(records, bytes, to, *team_)) return false;
      for (Launch* launch : intake_.synchronising())
        launch->synchronises.store(true, std::memory_order_relaxed);
    }
    const std::vector<Stretch>& stretches = intake_.stretches();
    for (size_t i = 0; i < stretches.size();) {
      // As many stretches as fit.
      const size_t from = stretches[i].offset;
      const size_t room = capacity_ - filling_->bytes;
      size_t to = from;
      for (; i < stretches.size(); ++i) {
        const size_t end = i + 1 < stretches.size() ? stretches[i + 1].offset : bytes;
        if (end - from > room) break;
        filling_->add({filling_->bytes + (stretches[i].offset - from), stretches[i].records});
        to = end;
      }
      if (!fits) {
        const Timer timer(&times_.checking);
        std::memcpy(filling_->records.get() + filling_->bytes, records + from, to - from);
      }
      filling_->bytes += to - from;
      if (i < stretches.size()) submit();
    }
    if (filling_->bytes >= size_) submit();
    return true;
  }

  // Keeps why the engine came to a stop, mostly that memory ran out. What is lost may belong to any launch,
  // so from here on no graph is given out, and the records that wait, some of launches that will be gone, are
  // dropped.
  void fail() noexcept {
    failure_ = std::current_exception();
    try {
      team_->wait();
    } catch (...) {  // the same shortage
    }
    filling_->clear();
  }

  void demand_whole() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  // Hands the batch to the team and waits until there is another one to fill.
  void submit() {
    filling_->launches.clear();
    for (const auto& [sequence, launch] : launches_) filling_->launches.emplace_back(sequence, launch.get());
    filling_->round = ++round_;
    if (filling_->little()) {
      wait();
      const Timer timer(&times_.analysing);
      work_alone(*filling_);
      filling_->clear();
    } else {
      team_->submit();
      const Timer timer(&times_.waiting);
      fill_next();
    }
  }

  void fill_next() {
    filling_ = batches_[team_->next()].get();
    filling_->clear();
  }

  void wait() {
    const Timer timer(&times_.waiting);
    team_->wait();
  }

  void finish() {
    if (filling_->bytes != 0) submit();
    wait();
  }

  // One thread does all workers' parts, one after another. Programs with many small launches live on this.
  void work_alone(Batch& batch) {
    Slice& slice = batch.slices.front();
    for (size_t number = 0; number < workers_.size(); ++number) {
      workers_[number]->start_round(&batch.of(number).snapshots, batch.round);
      batch.of(number).split.clear();
    }
    for (size_t i = 0; i < batch.stretches.size(); ++i) {
      const Batch::Records records = batch.records_of(i, i + 1);
      slice.start(records.begin, batch.launches);
      workers_.front()->decode(records.end, slice);
      for (const std::unique_ptr<Worker>& worker : workers_)
        if (workers_.size() > 1) worker->by_block(slice);
      for (size_t number = 0; number < workers_.size(); ++number) {
        workers_[number]->start_by_address(slice);
        workers_[number]->by_address(slice, batch.of(number).split);
      }
    }
    settle_split_lanes(0, batch);
  }

  // One worker alone does all when it is to decode.
  void decode(unsigned number, unsigned place, unsigned slice_number) override {
    Batch& batch = *batches_[place];
    if (workers_.size() == 1) return work_alone(batch);
    Slice& slice = batch.slices[slice_number];
    const Batch::Records records = batch.records_of(slice_number);
    slice.start(records.begin, batch.launches);
    workers_[number]->decode(records.end, slice);
  }

  void by_block(unsigned number, unsigned place) override {
    Batch& batch = *batches_[place];
    if (workers_.size() == 1) return;
    workers_[number]->start_round(&batch.of(number).snapshots, batch.round);
    for (Slice& slice : batch.slices) workers_[number]->by_block(slice);
  }

  void by_address(unsigned number, unsigned place) override {
    Batch& batch = *batches_[place];
    if (workers_.size() == 1) return;
    std::vector<SplitLane>& split = batch.of(number).split;
    split.clear();
    workers_[number]->start_by_address(batch.slices.front());
    for (size_t i = 0; i < batch.slices.size(); ++i) {
      // The next one's first places are on their way meanwhile.
      if (i + 1 < batch.slices.size()) workers_[number]->start_by_address(batch.slices[i + 1]);
      workers_[number]->by_address(batch.slices[i], split);
    }
  }

  void close(unsigned number, unsigned place) override {
    if (workers_.size() != 1) settle_split_lanes(number, *batches_[place]);
  }

  void take_in(uint64_t part) noexcept override { intake_.take_part(part); }

  // Counts of lanes whose bytes were divided among workers: once for each edge, whoever saw it.
  void settle_split_lanes(unsigned number, Batch& batch) {
    std::vector<SplitLane> all;
    for (unsigned worker = 0; worker < workers_.size(); ++worker) {
      const std::vector<SplitLane>& split = batch.of(worker).split;
      all.insert(all.end(), split.begin(), split.end());
    }
    const auto order = [](const SplitLane& lane) {
      return std::make_tuple(lane.record, lane.lane, lane.edge);
    };
    std::sort(all.begin(), all.end(),
              [&](const SplitLane& a, const SplitLane& b) { return order(a) < order(b); });
    all.erase(std::unique(all.begin(), all.end(),
                          [&](const SplitLane& a, const SplitLane& b) { return order(a) == order(b); }),
              all.end());
    for (const SplitLane& lane : all) lane.launch->counts(number).edges.add(lane.node, lane.edge, 0, 1, 0);
  }

  const size_t size_, capacity_;  // of a batch: when it is handed over, and what it can hold
  CallerTimes times_;
  std::vector<std::unique_ptr<Worker>>
      workers_;  // before the launches, whose shadows lie in the workers' pools
  LaunchesBySequence launches_;
  Intake intake_{launches_};
  std::vector<std::unique_ptr<Batch>> batches_;
  Batch* filling_ = nullptr;
  uint64_t round_ = 0;
  std::exception_ptr failure_;
  std::unique_ptr<Workers> team_;  // last: its threads use all of the above
};

Engine::Engine(unsigned workers)
    : implementation_(std::make_unique<Implementation>(
          workers != 0 ? workers : std::max(1u, std::thread::hardware_concurrency()))) {}
Engine::~Engine() = default;

void Engine::begin(const LaunchShape& shape) { implementation_->begin(shape); }

bool Engine::consume(const void* records, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(records) % alignof(RecordHeader) != 0) {
    std::vector<RecordHeader> aligned(bytes / sizeof(RecordHeader) + 1);
    std::memcpy(aligned.data(), records, bytes);
    return implementation_->consume(reinterpret_cast<unsigned char*>(aligned.data()), bytes);
  }
  return implementation_->consume(static_cast<const unsigned char*>(records), bytes);
}

const std::string& Engine::refused() const { return implementation_->refused(); }

std::vector<WorkerTimes> Engine::worker_times() { return implementation_->worker_times(); }

CallerTimes Engine::caller_times() const { return implementation_->caller_times(); }

Graph Engine::end(uint32_t launch) { return implementation_->end(launch); }

}  // namespace cuvein
