// Where the stream goes: the host engine with its profiles, the trace file, and the description of the
// process.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "analyzer/engine.h"
#include "monitor/background.h"
#include "monitor/config.h"
#include "monitor/journal.h"
#include "monitor/launch.h"
#include "monitor/merged.h"
#include "profile/document.h"
#include "trace/writer.h"

namespace cuvein {

// Safe to call from any thread. No call fails: what goes wrong becomes a problem in process.json.
class Output {
 public:
  explicit Output(const Config& config);

  void problem(const std::string& sentence);  // recorded once
  void driver(const std::string& version);    // CUDA version of the driver
  void kernels_of(Modules* modules) { modules_ = modules; }
  void module_loaded(std::shared_ptr<Code> code);  // a launch from it may come

  void begin(Launch* launch, const DeviceFacts& device);
  // Has the host engine analyse a begun launch, which for one that runs on the GPU need not be.
  void begin_on_host(Launch* launch);
  // Whole records of launches begun on the host, in order, and padding.
  void records(const void* records, size_t bytes);
  // The profile is written in the background.
  void end(std::unique_ptr<Launch> launch, const char* incomplete);
  // Waits for the profiles of launches that have ended: until nothing can happen to them any more.
  void settle() { profiles_made_.settle(); }

  void rest();    // called when nothing is to do for a while
  void finish();  // closes everything

 private:
  const ProcessParts& process();
  void store_module(Code* code);
  void send(const void* records, size_t bytes);
  void open_trace();
  void trace_failed();
  // Empty when that fails. `merged`: launches that are added up; 0: it is only one.
  std::string profile(const Launch& launch, const Graph& graph, const std::string& engine,
                      const std::string& incomplete, uint64_t merged, const ProcessParts& process);
  bool write_profile(uint32_t sequence, const std::string& profile);
  // Of a launch that has ended; its file is written in the background.
  void keep_profile(uint32_t sequence, std::string profile, bool incomplete);
  // The same of what a profile is made of, in the background, too. False: there is no room.
  bool keep_counts(uint32_t sequence, std::string* counts);
  int keep(Journal::Kind kind, uint32_t sequence, const std::string& content);  // -1: there is no room
  // `kept`: its number in the journal, which keeps what cannot be written; -1: it is not there.
  void write_kept(uint32_t sequence, const std::string& profile, bool incomplete, int kept);
  void count_profile(bool incomplete);
  void write_merged();
  void write_process(bool finished);  // not with the mutex

  const Config& config_;
  Modules* modules_ = nullptr;
  std::mutex writing_;  // process.json; taken before the next
  std::mutex mutex_;    // guards all but the problems
  std::string folder_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<TraceWriter> trace_;
  bool trace_opened_ = false;  // or tried to
  bool traced_ = false;        // there is a trace file
  bool trace_dirty_ = false;
  std::string driver_;
  ProcessParts process_;  // empty: not made yet
  std::set<std::string> modules_written_;
  std::string damage_;                                 // why records since were not analysed
  std::map<std::string, uint64_t> host_reasons_;       // why launches were not analysed on the GPU
  std::atomic<uint64_t> profiles_{0}, incomplete_{0};  // of these; without the mutex
  Merging merging_;
  std::set<uint32_t> merged_written_;  // sequence numbers
  std::chrono::steady_clock::time_point written_;
  std::atomic<bool> changed_{false};
  std::mutex problems_mutex_;
  std::vector<std::string> problems_;
  std::atomic<unsigned> unwritten_{0};  // launches of which the profiles are to be made
  std::once_flag journal_once_;         // made with the first profile
  std::unique_ptr<Journal> journal_;
  // Last, since their tasks use the others.
  Background files_;
  Background profiles_made_;
};

}  // namespace cuvein
