#include "monitor/output.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "monitor/json_text.h"
#include "monitor/process.h"
#include "monitor/program.h"
#include "profile/counted.h"
#include "profile/document.h"

namespace cuvein {
namespace {

constexpr size_t kMostProblems = 100;
// What waits for its file is in the journal and once more in memory.
constexpr size_t kMostFiles = 1024;
constexpr size_t kMostHashedAhead = 4 << 20;  // bytes

// To make and write a profile takes longer than a small launch.
unsigned writers() { return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u); }
// Who waits for names needs no processor.
unsigned makers() { return std::clamp(std::thread::hardware_concurrency() / 4, 1u, 2u); }

// Which allocations of the launch its graph refers to, and what those lie in.
std::vector<bool> touched(const Launch& launch, const Graph& graph) {
  if (!launch.allocations) return {};
  const std::vector<Allocation>& all = launch.allocations->allocations();
  std::vector<bool> result(all.size());
  for (const Node& node : graph.nodes) {
    for (const auto& [index, bytes] : node.allocation_bytes) {
      if (index < 0 || static_cast<size_t>(index) >= all.size()) continue;
      result[static_cast<size_t>(index)] = true;
      const int parent = all[static_cast<size_t>(index)].parent;
      if (parent >= 0) result[static_cast<size_t>(parent)] = true;
    }
  }
  return result;
}

}  // namespace

Output::Output(const Config& config)
    : config_(config),
      files_(writers(), kMostFiles),
      profiles_made_(config.call_sites ? writers() : makers()) {
  if (!config.output.empty()) {
    std::string error;
    folder_ = make_process_folder(config.output, &error);
    if (folder_.empty()) problem(error);
  }
  write_process(false);
}

const ProcessParts& Output::process() {
  if (process_.document.empty()) {
    const nlohmann::json document = process_json(config_.sanitizer_version, driver_);
    process_ = {document["id"].get<std::string>(), text(document)};
  }
  return process_;
}

void Output::problem(const std::string& sentence) {
  std::lock_guard<std::mutex> lock(problems_mutex_);
  for (const std::string& known : problems_) {
    if (known == sentence) return;
  }
  if (problems_.size() < kMostProblems) problems_.push_back(sentence);
  changed_ = true;
}

void Output::driver(const std::string& version) {
  std::lock_guard<std::mutex> lock(mutex_);
  driver_ = version;
  process_ = {};
}

void Output::open_trace() {
  if (trace_opened_ || config_.trace.empty()) return;
  trace_opened_ = true;
  std::string error;
  trace_ = TraceWriter::create(config_.trace, process().document, &error);
  traced_ = trace_ != nullptr;
  if (!traced_) problem("the trace file " + config_.trace + " could not be made: " + error);
}

void Output::trace_failed() {
  problem("the trace file " + config_.trace + " is incomplete: " + trace_->error());
  if (trace_->broken()) trace_.reset();
}

namespace {

// With the code's mutex.
void hash(Code* code) {
  if (code->sha256.empty() && !code->image.empty())
    code->sha256 = sha256_hex(code->image.data(), code->image.size());
}

}  // namespace

// Until it has been patched and launched, the hash is there. Most modules are small; of large ones a program
// may load many that it uses nothing of.
void Output::module_loaded(std::shared_ptr<Code> code) {
  if (code->image.size() > kMostHashedAhead) return;
  files_.add([code = std::move(code)] {
    std::lock_guard<std::mutex> lock(code->mutex);
    hash(code.get());
  });
}

void Output::store_module(Code* code) {
  std::lock_guard<std::mutex> lock(code->mutex);
  if (code->image.empty()) return;
  hash(code);
  if (trace_ && !trace_->module(code->image.data(), code->image.size())) trace_failed();
  if (!folder_.empty() && modules_written_.insert(code->sha256).second) {
    const std::string path = folder_ + "/modules/" + code->sha256 + ".cubin";
    std::string error;
    if (!write_atomically(path, std::string(code->image.begin(), code->image.end()), &error)) {
      problem("the module " + path + " could not be written: " + error);
    }
  }
  code->image.clear();
  code->image.shrink_to_fit();
}

void Output::begin(Launch* launch, const DeviceFacts& device) {
  std::lock_guard<std::mutex> lock(mutex_);
  open_trace();
  store_module(launch->entry->code.get());
  launch->device = device;
  launch->begun = true;
  if (trace_) {
    trace_dirty_ = true;
    if (!trace_->begin(launch->document(nullptr))) trace_failed();
  }
}

void Output::begin_on_host(Launch* launch) {
  std::lock_guard<std::mutex> lock(mutex_);
  launch->on_host = true;
  if (!config_.analyse || folder_.empty()) return;
  if (!engine_) engine_ = std::make_unique<Engine>(config_.workers);
  engine_->begin(launch->shape());
}

void Output::send(const void* records, size_t bytes) {
  if (trace_) {
    trace_dirty_ = true;
    if (!trace_->records(records, bytes)) trace_failed();
  }
  if (engine_ && !engine_->consume(records, bytes) && damage_.empty()) {
    const std::string& record = engine_->refused();
    damage_ = "the engine refused a part of the records" + (record.empty() ? "" : " (" + record + ")");
  }
}

void Output::records(const void* records, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  send(records, bytes);
}

namespace {

// What a launch has made may be getting its name just now.
void await_names(const Launch& launch, const Patience& patience) {
  if (!launch.site) return;
  await_program(launch.question, patience);
  if (launch.allocations) launch.allocations->await_names(patience);
}

void add_counts(const Launch& launch, Graph* graph, std::string* incomplete) {
  const Aggregate none;
  add_counts(launch.aggregate ? *launch.aggregate : none, launch.code_base, graph, incomplete);
}

}  // namespace

void Output::end(std::unique_ptr<Launch> launch, const char* incomplete) {
  // The thread that writes the profile can wait better.
  if (!config_.trace.empty() || config_.merge_launches) await_names(*launch, Patience());
  std::unique_lock<std::mutex> lock(mutex_);
  if (!launch->begun) return;
  if (incomplete == nullptr && launch->on_host) {
    RecordHeader end = {};
    end.length = sizeof end / kRecordUnit;
    end.kind = RecordKind::kLaunchEnd;
    end.launch = launch->sequence;
    send(&end, sizeof end);
  }
  if (trace_ && !trace_->end(launch->sequence, incomplete,
                             launch->allocations ? launch->allocations->amendments() : ""))
    trace_failed();
  if (!config_.analyse || folder_.empty()) return;
  Graph graph;
  std::string why = incomplete != nullptr ? incomplete : "";
  if (launch->on_host) {
    std::string stopped;
    try {
      graph = engine_->end(launch->sequence);
    } catch (const std::bad_alloc&) {
      stopped = "the analysis stopped: memory ran out";
    } catch (const std::exception& error) {
      stopped = std::string("the analysis stopped: ") + error.what();
    }
    if (why.empty()) why = stopped;
  }
  if (why.empty()) why = damage_;
  const bool merges = config_.merge_launches && why.empty();
  if (launch->ended_on_gpu) {
    if (merges) add_counts(*launch, &graph, &why);
  } else if (launch->gpu && why.empty()) {
    ++host_reasons_["another kernel was running on it"];
  } else if (!launch->host_reason.empty()) {
    ++host_reasons_[launch->host_reason];
  }
  changed_ = true;
  if (launch->ended_on_gpu && !launch->on_host && !merges) {
    std::string counts = launch->counted(process(), why);
    if (!counts.empty()) {
      lock.unlock();
      if (keep_counts(launch->sequence, &counts)) return;
      lock.lock();
    }
  }
  std::string engine = launch->ended_on_gpu ? "gpu" : "host";
  if (merges && why.empty() && graph.ended) {
    merging_.add(std::move(launch), graph, engine.c_str());
    return;
  }
  struct Ended {
    std::unique_ptr<Launch> launch;
    Graph graph;
    std::string engine, incomplete;
    ProcessParts process;
  };
  const std::shared_ptr<Ended> ended(
      new Ended{std::move(launch), std::move(graph), std::move(engine), std::move(why), process()});
  lock.unlock();
  ++unwritten_;
  profiles_made_.add([this, ended, patience = Patience(Patience::Clock::now(), &unwritten_)] {
    try {
      await_names(*ended->launch, patience);
      if (ended->launch->ended_on_gpu) add_counts(*ended->launch, &ended->graph, &ended->incomplete);
      keep_profile(ended->launch->sequence,
                   profile(*ended->launch, ended->graph, ended->engine, ended->incomplete, 0, ended->process),
                   !ended->incomplete.empty());
    } catch (const std::exception& error) {
      problem(std::string("a profile could not be made: ") + error.what());
    }
    --unwritten_;
  });
}

void Output::keep_profile(uint32_t sequence, std::string profile, bool incomplete) {
  if (profile.empty()) return;
  const int number = keep(Journal::Kind::kProfile, sequence, profile);
  if (number < 0) return write_kept(sequence, profile, incomplete, number);
  files_.add([this, sequence, number, incomplete, profile = std::move(profile)] {
    write_kept(sequence, profile, incomplete, number);
  });
}

bool Output::keep_counts(uint32_t sequence, std::string* counts) {
  const int number = keep(Journal::Kind::kCounts, sequence, *counts);
  if (number < 0) return false;
  files_.add([this, sequence, number, counts = std::move(*counts)] {
    std::string why;
    try {
      bool incomplete = false;
      const std::string profile = counted_profile(counts.data(), counts.size(), &incomplete);
      write_kept(sequence, profile, incomplete, number);
      return;
    } catch (const std::bad_alloc&) {
      why = "memory ran out";
    } catch (const std::exception& error) {
      why = error.what();
      journal_->drop(number);  // it will not be made later either
    }
    problem("the profile of a launch could not be made: " + why);
  });
  return true;
}

int Output::keep(Journal::Kind kind, uint32_t sequence, const std::string& content) {
  std::call_once(journal_once_, [this] { journal_ = Journal::create(folder_ + "/journal"); });
  return journal_ ? journal_->keep(kind, sequence, content) : -1;
}

void Output::write_kept(uint32_t sequence, const std::string& profile, bool incomplete, int kept) {
  if (!write_profile(sequence, profile)) return;
  count_profile(incomplete);
  if (kept >= 0) journal_->drop(kept);
}

void Output::count_profile(bool incomplete) {
  incomplete_ += incomplete;
  const uint64_t profiles = ++profiles_;
  changed_ = true;
  // Now and then, so that a program that is killed leaves a description too.
  if ((profiles & (profiles - 1)) == 0) write_process(false);
}

std::string Output::profile(const Launch& launch, const Graph& graph, const std::string& engine,
                            const std::string& incomplete, uint64_t merged, const ProcessParts& process) {
  std::string error;
  const char* why = incomplete.empty() ? nullptr : incomplete.c_str();
  try {
    const std::vector<bool> wanted = touched(launch, graph);
    LaunchParts parts;
    if (launch.parts(wanted, merged, &parts))
      return profile_document(process, parts, graph, engine.c_str(), why);
    std::string document = launch.document(&wanted);
    if (merged != 0) {
      document.pop_back();
      document += ",\"merged\":" + std::to_string(merged) + "}";
    }
    return profile_document(process.document, document, graph, engine.c_str(), why);
  } catch (const std::bad_alloc&) {
    error = "memory ran out";
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  problem("the profile of a launch could not be written: " + error);
  return "";
}

bool Output::write_profile(uint32_t sequence, const std::string& profile) {
  if (profile.empty()) return false;
  char name[40];
  std::snprintf(name, sizeof name, "/launch-%06" PRIu32 ".json", sequence);
  std::string error;
  if (write_atomically(folder_ + name, profile, &error)) return true;
  problem("the profile of a launch could not be written: " + error);
  return false;
}

void Output::write_merged() {
  merging_.each_changed([&](const MergedLaunches& merged, const std::string& engine) {
    if (write_profile(merged.first->sequence,
                      profile(*merged.first, merged.graph.graph(), engine, "", merged.count, process())) &&
        merged_written_.insert(merged.first->sequence).second)
      ++profiles_;
  });
}

void Output::write_process(bool finished) {
  const std::lock_guard<std::mutex> one_at_a_time(writing_);
  std::unique_lock<std::mutex> lock(mutex_);
  written_ = std::chrono::steady_clock::now();
  changed_ = false;
  if (folder_.empty()) return;
  nlohmann::json kernels = nlohmann::json::array();
  if (modules_ != nullptr) {
    for (const auto& kernel : modules_->kernels()) {
      kernels.push_back({{"name", kernel->name},
                         {"mangled", kernel->mangled},
                         {"launches", kernel->launches.load()},
                         {"selected", kernel->selected.load()}});
    }
  }
  nlohmann::json document = {{"format", "cuvein process"},
                             {"version", 1},
                             {"process", process_json(config_.sanitizer_version, driver_)},
                             {"finished", finished},
                             {"kernels_seen", kernels},
                             {"profiles", profiles_.load()},
                             {"incomplete", incomplete_.load()},
                             {"trace", traced_ ? nlohmann::json(config_.trace) : nlohmann::json()}};
  if (config_.gpu) {
    nlohmann::json reasons = nlohmann::json::array();
    for (const auto& [reason, launches] : host_reasons_)
      reasons.push_back({{"reason", reason}, {"launches", launches}});
    document["host_engine"] = reasons;
  }
  {
    std::lock_guard<std::mutex> problems_lock(problems_mutex_);
    document["problems"] = problems_;
  }
  lock.unlock();  // nobody waits for the file
  std::string error;
  if (!write_atomically(folder_ + "/process.json", text(document), &error)) {
    problem("process.json could not be written: " + error);
  }
}

void Output::rest() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (trace_ && trace_dirty_) {
    trace_dirty_ = false;
    if (!trace_->flush()) trace_failed();
  }
  // A program that is killed leaves what was known about a second before.
  if (changed_ && std::chrono::steady_clock::now() - written_ > std::chrono::seconds(1)) {
    write_merged();
    lock.unlock();
    write_process(false);
  }
}

void Output::finish() {
  settle();
  files_.settle();
  std::unique_lock<std::mutex> lock(mutex_);
  open_trace();
  if (trace_ && !trace_->close())
    problem("the trace file " + config_.trace + " is incomplete: " + trace_->error());
  trace_.reset();
  write_merged();
  lock.unlock();
  write_process(true);
  journal_.reset();
}

}  // namespace cuvein
