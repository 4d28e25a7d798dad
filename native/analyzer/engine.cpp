#include "analyzer/engine.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/launch.h"
#include "analyzer/validation.h"
#include "analyzer/worker.h"
#include "analyzer/workers.h"

namespace cuvein {

namespace {

// A batch is cut into stretches of about this many records: what one worker alone takes through all steps
// while it is in the cache, and the grain in which several share out a batch.
constexpr unsigned kStretch = Worker::kRecordsOfAStretch;
constexpr size_t kBatchPerWorker = size_t{1} << 18;
constexpr size_t kSmallestBatch = size_t{1} << 20;
constexpr size_t kLargestBatch = size_t{16} << 20;
constexpr unsigned kSlicesPerWorker = 4;
// Waking a team takes longer than this many records.
constexpr unsigned kLittle = 512;

struct Stretch {
  size_t offset;
  unsigned records;
};

struct Batch {
  explicit Batch(size_t capacity) : records(new unsigned char[capacity]) {}

  std::unique_ptr<unsigned char[]> records;
  size_t bytes = 0;
  std::vector<Stretch> stretches;
  OpenLaunches launches;
};

// new[] aligns to 16 bytes, which is what records need.
static_assert(alignof(std::max_align_t) >= alignof(RecordHeader));

}  // namespace

class Engine::Implementation {
 public:
  explicit Implementation(unsigned workers)
      : capacity_(std::min(kLargestBatch, std::max(kSmallestBatch, workers * kBatchPerWorker))),
        filling_(capacity_),
        working_(capacity_),
        team_(workers) {
    for (unsigned number = 0; number < workers; ++number)
      workers_.push_back(std::make_unique<Worker>(number, workers));
    const unsigned slices = workers == 1 ? 1 : workers * kSlicesPerWorker;
    for (unsigned i = 0; i < slices; ++i) slices_.emplace_back(workers);
  }

  ~Implementation() {
    try {
      finish();
    } catch (...) {  // nobody is left to be told
    }
  }

  void begin(const LaunchShape& shape) {
    demand_whole();
    auto launch = std::make_unique<Launch>(shape, team_.count());
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
    Graph graph = launch.graph();
    // Each worker cleans what it used; it is much for large launches only.
    if (team_.count() > 1 && launch.large()) {
      team_.start([&launch](unsigned worker) { launch.drop_part(worker); });
      team_.wait();
    }
    launches_.erase(found);
    return graph;
  }

  const std::string& refused() const { return refused_; }

 private:
  bool take(const unsigned char* records, size_t bytes) {
    if (!validate(records, bytes)) return false;
    for (Launch* launch : synchronising_) launch->synchronises.store(true, std::memory_order_relaxed);
    for (size_t i = 0; i < incoming_.size();) {
      // As many stretches as fit, in one copy.
      const size_t from = incoming_[i].offset;
      const size_t room = capacity_ - filling_.bytes;
      size_t to = from;
      for (; i < incoming_.size(); ++i) {
        const size_t end = i + 1 < incoming_.size() ? incoming_[i + 1].offset : bytes;
        if (end - from > room) break;
        add_stretch(filling_.bytes + (incoming_[i].offset - from), incoming_[i].records);
        to = end;
      }
      std::memcpy(filling_.records.get() + filling_.bytes, records + from, to - from);
      filling_.bytes += to - from;
      if (i < incoming_.size()) submit();
    }
    return true;
  }

  // Keeps why the engine came to a stop, mostly that memory ran out. What is lost may belong to any launch,
  // so from here on no graph is given out, and the records that wait, some of launches that will be gone, are
  // dropped.
  void fail() noexcept {
    failure_ = std::current_exception();
    try {
      team_.wait();
    } catch (...) {  // the same shortage
    }
    filling_.bytes = 0;
    filling_.stretches.clear();
  }

  void demand_whole() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  // Checks all records and cuts them into stretches. Sets incoming_ and synchronising_, nothing else.
  bool validate(const unsigned char* records, size_t bytes) {
    refused_.clear();
    incoming_.clear();
    synchronising_.clear();
    const Launch* launch = nullptr;
    uint32_t sequence = 0;
    unsigned count = kStretch;
    for (size_t at = 0; at < bytes;) {
      if (bytes - at < kRecordUnit) return false;
      const RecordHeader& record = *reinterpret_cast<const RecordHeader*>(records + at);
      const size_t length = size_t{record.length} * kRecordUnit;
      if (length == 0 || length > bytes - at) return false;
      if (record.kind != RecordKind::kPadding) {
        if (length < sizeof(RecordHeader)) return false;
        if (launch == nullptr || record.launch != sequence) {
          sequence = record.launch;
          const auto found = launches_.find(sequence);
          if (found == launches_.end()) return false;
          launch = found->second.get();
        }
        if (!valid(record, launch->geometry())) {
          refused_ = describe(record);
          return false;
        }
        if (record.kind == RecordKind::kBlockBarrier || record.kind == RecordKind::kWarpSync)
          note_synchronising(sequence);
      }
      if (count == kStretch) {
        incoming_.push_back({at, 0});
        count = 0;
      }
      ++count;
      ++incoming_.back().records;
      at += length;
    }
    return true;
  }

  void note_synchronising(uint32_t sequence) {
    Launch* launch = launches_.find(sequence)->second.get();
    if (launch->synchronises.load(std::memory_order_relaxed)) return;
    if (std::find(synchronising_.begin(), synchronising_.end(), launch) == synchronising_.end())
      synchronising_.push_back(launch);
  }

  void add_stretch(size_t offset, unsigned records) {
    std::vector<Stretch>& stretches = filling_.stretches;
    if (!stretches.empty() && stretches.back().records + records <= kStretch)
      stretches.back().records += records;
    else
      stretches.push_back({offset, records});
  }

  // Hands the batch to the team, as soon as it is through with the one before.
  void submit() {
    team_.wait();
    filling_.launches.clear();
    for (const auto& [sequence, launch] : launches_) filling_.launches.emplace_back(sequence, launch.get());
    std::swap(filling_, working_);
    filling_.bytes = 0;
    filling_.stretches.clear();
    ++round_;
    next_slice_ = 0;
    if (little(working_))
      work_alone();
    else
      team_.start([this](unsigned worker) { work(worker); });
  }

  static bool little(const Batch& batch) {
    unsigned records = 0;
    for (const Stretch& stretch : batch.stretches) {
      records += stretch.records;
      if (records > kLittle) return false;
    }
    return true;
  }

  // One thread does all workers' parts, one after another. Programs with many small launches live on this.
  void work_alone() {
    Slice& slice = slices_.front();
    for (const std::unique_ptr<Worker>& worker : workers_) worker->start_round();
    for (size_t i = 0; i < working_.stretches.size(); ++i) {
      slice.clear();
      workers_.front()->decode(working_.records.get() + working_.stretches[i].offset, stretch_end(i),
                               working_.launches, slice);
      for (const std::unique_ptr<Worker>& worker : workers_) worker->by_block(slice, round_);
      for (const std::unique_ptr<Worker>& worker : workers_) worker->by_address(slice);
      if (workers_.size() > 1) settle_split_lanes();
    }
  }

  void finish() {
    if (filling_.bytes != 0) submit();
    team_.wait();
  }

  const unsigned char* stretch_end(size_t stretch) const {
    return working_.records.get() + (stretch + 1 < working_.stretches.size()
                                         ? working_.stretches[stretch + 1].offset
                                         : working_.bytes);
  }

  void work(unsigned number) {
    Worker& worker = *workers_[number];
    const unsigned char* records = working_.records.get();
    const size_t stretches = working_.stretches.size();
    if (workers_.size() == 1) {
      work_alone();
      return;
    }
    team_.together([&] {
      for (size_t i; (i = next_slice_.fetch_add(1)) < slices_.size();) {
        slices_[i].clear();
        const size_t from = stretches * i / slices_.size(), to = stretches * (i + 1) / slices_.size();
        if (from != to)
          worker.decode(records + working_.stretches[from].offset, stretch_end(to - 1), working_.launches,
                        slices_[i]);
      }
    });
    team_.together([&] {
      worker.start_round();
      for (Slice& slice : slices_) worker.by_block(slice, round_);
    });
    team_.together([&] {
      for (Slice& slice : slices_) worker.by_address(slice);
    });
    if (number == 0) settle_split_lanes();
  }

  // Counts of lanes whose bytes were divided among workers: once for each edge, whoever saw it.
  void settle_split_lanes() {
    std::vector<SplitLane> all;
    for (const std::unique_ptr<Worker>& worker : workers_) {
      all.insert(all.end(), worker->split_lanes().begin(), worker->split_lanes().end());
      worker->split_lanes().clear();
    }
    const auto order = [](const SplitLane& lane) {
      return std::make_tuple(lane.access, lane.lane, lane.edge);
    };
    std::sort(all.begin(), all.end(),
              [&](const SplitLane& a, const SplitLane& b) { return order(a) < order(b); });
    all.erase(std::unique(all.begin(), all.end(),
                          [&](const SplitLane& a, const SplitLane& b) { return order(a) == order(b); }),
              all.end());
    for (const SplitLane& lane : all)
      lane.access->launch->counts(0).edges.add(lane.access->node, lane.edge, 0, 1, 0);
  }

  const size_t capacity_;
  Batch filling_, working_;
  std::vector<Stretch> incoming_;
  std::vector<Launch*> synchronising_;
  std::string refused_;
  std::vector<std::unique_ptr<Worker>>
      workers_;  // before the launches, whose shadows lie in the workers' pools
  std::unordered_map<uint32_t, std::unique_ptr<Launch>> launches_;
  std::vector<Slice> slices_;
  std::atomic<size_t> next_slice_{0};
  uint64_t round_ = 0;
  std::exception_ptr failure_;
  Workers team_;  // last: its threads use all of the above
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

Graph Engine::end(uint32_t launch) { return implementation_->end(launch); }

}  // namespace cuvein
