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
#include "monitor/config.h"
#include "monitor/launch.h"
#include "monitor/merged.h"
#include "trace/writer.h"

namespace cuvein {

// Safe to call from any thread. No call fails: what goes wrong becomes a problem in process.json.
class Output {
 public:
  explicit Output(const Config& config);

  void problem(const std::string& sentence);  // recorded once
  void driver(const std::string& version);    // CUDA version of the driver
  void kernels_of(Modules* modules) { modules_ = modules; }

  void begin(Launch* launch, const DeviceFacts& device);
  // Whole records of begun launches, in order.
  void records(const void* records, size_t bytes);
  void end(Launch* launch, const char* incomplete);

  void rest();    // called when nothing is to do for a while
  void finish();  // closes everything

 private:
  nlohmann::json process() const;
  void store_module(Code* code);
  void send(const void* records, size_t bytes);
  void open_trace();
  void trace_failed();
  // `merged`: launches that are added up; 0: it is only one.
  bool write_profile(const Launch& launch, const Graph& graph, const char* engine, const char* incomplete,
                     uint64_t merged);
  void write_merged();
  void write_process(bool finished);

  const Config& config_;
  Modules* modules_ = nullptr;
  std::mutex mutex_;  // guards all but the problems
  std::string folder_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<TraceWriter> trace_;
  bool trace_opened_ = false;  // or tried to
  bool traced_ = false;        // there is a trace file
  bool trace_dirty_ = false;
  std::string driver_;
  std::set<std::string> modules_written_;
  std::string damage_;                            // why records since were not analysed
  std::map<std::string, uint64_t> host_reasons_;  // why launches were not analysed on the GPU
  uint64_t profiles_ = 0;
  Merging merging_;
  std::set<uint32_t> merged_written_;  // sequence numbers
  std::chrono::steady_clock::time_point written_;
  std::atomic<bool> changed_{false};
  std::mutex problems_mutex_;
  std::vector<std::string> problems_;
};

}  // namespace cuvein
