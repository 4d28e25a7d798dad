#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "analyzer/engine.h"
#include "capi/guard.h"
#include "capi/status.h"
#include "profile/document.h"
#include "trace/reader.h"

using namespace cuvein;
using namespace cuvein::capi;
using trace::ChunkKind;

namespace {

// Thrown inside a replay to end it; the status and the sentence come from here.
struct Stop {
  int status;
  std::string sentence;
};

class Replay {
 public:
  Replay(unsigned workers, cuvein_profile_callback profile, void* user)
      : engine_(workers), profile_(profile), user_(user) {}

  void take(const TraceReader::Chunk& chunk) {
    const std::string text =
        chunk.kind == ChunkKind::kRecords || chunk.kind == ChunkKind::kModule
            ? std::string()
            : std::string(reinterpret_cast<const char*>(chunk.data), chunk.data ? chunk.bytes : 0);
    switch (chunk.kind) {
      case ChunkKind::kProcess:
        process_json_ = text;
        break;
      case ChunkKind::kLaunchBegin: {
        const LaunchShape shape = launch_shape(text);
        if (open_.count(shape.sequence))
          throw std::invalid_argument("launch " + std::to_string(shape.sequence) + " begins twice");
        engine_.begin(shape);
        open_[shape.sequence] = text;
        break;
      }
      case ChunkKind::kRecords:
        if (chunk.bytes && !engine_.consume(chunk.data, chunk.bytes)) {
          const std::string& record = engine_.refused();
          throw std::invalid_argument(
              record.empty() ? "the records chunk has a record of no open launch"
                             : "the records chunk has a record that its launch cannot have (" + record + ")");
        }
        break;
      case ChunkKind::kLaunchEnd:
        end(text);
        break;
      case ChunkKind::kModule:
      case ChunkKind::kEnd:
        break;
    }
  }

  // What is still open has lost its end.
  void end_all(const char* incomplete) {
    while (!open_.empty()) deliver(open_.begin()->first, incomplete);
  }

 private:
  void end(const std::string& text) {
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_object() || !document.contains("sequence") ||
        !document["sequence"].is_number_unsigned() || !document.contains("incomplete") ||
        !(document["incomplete"].is_null() || document["incomplete"].is_string()))
      throw std::invalid_argument("the launch end chunk makes no sense");
    const auto sequence = document["sequence"].get<uint64_t>();
    if (sequence > UINT32_MAX || !open_.count(static_cast<uint32_t>(sequence)))
      throw std::invalid_argument("launch " + std::to_string(sequence) + " ends without having begun");
    const std::string tensors = document.contains("tensors") ? document["tensors"].dump() : std::string();
    const bool whole = document["incomplete"].is_null();
    const std::string incomplete = whole ? std::string() : document["incomplete"].get<std::string>();
    deliver(static_cast<uint32_t>(sequence), whole ? nullptr : incomplete.c_str(), tensors);
  }

  void deliver(uint32_t sequence, const char* incomplete, const std::string& tensors = "") {
    const std::string launch_json = std::move(open_[sequence]);
    open_.erase(sequence);
    const std::string json =
        profile_document(process_json_, launch_json, engine_.end(sequence), "host", incomplete, tensors);
    if (profile_ && profile_(user_, json.data(), json.size()))
      throw Stop{CUVEIN_STOPPED, "the replay was stopped"};
  }

  Engine engine_;
  cuvein_profile_callback profile_;
  void* user_;
  std::string process_json_;
  std::map<uint32_t, std::string> open_;
};

int run(const char* path, unsigned workers, cuvein_profile_callback profile,
        cuvein_progress_callback progress, void* user) {
  // Decoding a record takes about as long as analysing it.
  TraceReader reader(workers == 1 ? 0 : workers != 0 ? workers : std::thread::hardware_concurrency());
  if (const auto status = reader.open(path); status != TraceReader::Status::kOk)
    return report(status_of(status), reader.error());
  Replay replay(workers, profile, user);
  for (;;) {
    TraceReader::Chunk chunk{};
    const auto status = reader.next(&chunk);
    if (status != TraceReader::Status::kOk) {
      // The callbacks run user code that may itself use this library, so the sentence is kept apart.
      const std::string sentence = reader.error();
      replay.end_all(("The trace breaks off: " + sentence + ".").c_str());
      return report(status_of(status), sentence);
    }
    try {
      replay.take(chunk);
    } catch (const std::invalid_argument& problem) {
      const std::string sentence = std::string(path) + " is damaged at byte " + std::to_string(chunk.offset) +
                                   ": " + problem.what() + "; everything before it was read";
      replay.end_all(("The trace breaks off: " + sentence + ".").c_str());
      return report(CUVEIN_DAMAGED, sentence);
    }
    if (progress && progress(user, chunk.offset + chunk.stored, reader.size()))
      throw Stop{CUVEIN_STOPPED, "the replay was stopped"};
    if (chunk.kind == ChunkKind::kEnd) break;
  }
  replay.end_all("The trace ends before this launch does.");
  return CUVEIN_OK;
}

}  // namespace

int cuvein_replay(const char* path, unsigned workers, cuvein_profile_callback profile,
                  cuvein_progress_callback progress, void* user) {
  return guarded([&] {
    if (!path) return report(CUVEIN_INVALID, "the path of the trace is missing");
    try {
      return run(path, workers, profile, progress, user);
    } catch (const Stop& stop) {
      return report(stop.status, stop.sentence);
    }
  });
}
