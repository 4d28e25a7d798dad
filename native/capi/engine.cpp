#include "analyzer/engine.h"

#include <map>
#include <nlohmann/json.hpp>

#include "capi/guard.h"
#include "profile/document.h"

using namespace cuvein;
using namespace cuvein::capi;

struct cuvein_engine {
  cuvein_engine(unsigned workers, const char* process) : engine(workers), process_json(process) {}
  Engine engine;
  std::string process_json;
  std::map<uint32_t, std::string> open;  // launch -> its document
  std::string json;                      // what the last call returned
};

cuvein_engine* cuvein_engine_new(unsigned workers, const char* process_json) {
  cuvein_engine* made = nullptr;
  guarded([&] {
    if (!process_json) return report(CUVEIN_INVALID, "the process document is missing");
    made = new cuvein_engine(workers, process_json);
    return static_cast<int>(CUVEIN_OK);
  });
  return made;
}

void cuvein_engine_delete(cuvein_engine* engine) { delete engine; }

int cuvein_engine_begin(cuvein_engine* engine, const char* launch_json) {
  return guarded([&] {
    if (!engine || !launch_json)
      return report(CUVEIN_INVALID, "the engine or the launch document is missing");
    const LaunchShape shape = launch_shape(launch_json);
    if (engine->open.count(shape.sequence))
      return report(CUVEIN_INVALID, "launch " + std::to_string(shape.sequence) + " is open already");
    engine->engine.begin(shape);
    engine->open[shape.sequence] = launch_json;
    return static_cast<int>(CUVEIN_OK);
  });
}

int cuvein_engine_consume(cuvein_engine* engine, const void* records, size_t bytes) {
  return guarded([&] {
    if (!engine || (!records && bytes))
      return report(CUVEIN_INVALID, "the engine or the records are missing");
    if (bytes == 0 || engine->engine.consume(records, bytes)) return static_cast<int>(CUVEIN_OK);
    const std::string& record = engine->engine.refused();
    return report(
        CUVEIN_INVALID,
        "these records are malformed or belong to a launch that is not open; none of them was taken" +
            (record.empty() ? "" : " (" + record + ")"));
  });
}

int cuvein_engine_end(cuvein_engine* engine, uint32_t launch, const char* incomplete, const char** json) {
  return guarded([&] {
    if (!engine || !json) return report(CUVEIN_INVALID, "the engine or the place for the profile is missing");
    const auto found = engine->open.find(launch);
    if (found == engine->open.end())
      return report(CUVEIN_INVALID, "launch " + std::to_string(launch) + " is not open");
    const std::string document = std::move(found->second);
    engine->open.erase(found);
    engine->json =
        profile_document(engine->process_json, document, engine->engine.end(launch), "host", incomplete);
    *json = engine->json.c_str();
    return static_cast<int>(CUVEIN_OK);
  });
}

int cuvein_engine_times(cuvein_engine* engine, const char** json) {
  return guarded([&] {
    if (!engine || !json) return report(CUVEIN_INVALID, "the engine or the place for its times is missing");
    const CallerTimes caller = engine->engine.caller_times();
    nlohmann::json workers = nlohmann::json::array();
    for (const WorkerTimes& times : engine->engine.worker_times())
      workers.push_back({{"decode", times.decode},
                         {"by_block", times.by_block},
                         {"by_address", times.by_address},
                         {"cleaning", times.cleaning},
                         {"checking", times.checking},
                         {"waiting", times.waiting},
                         {"starved", times.starved}});
    const nlohmann::json document{{"caller",
                                   {{"checking", caller.checking},
                                    {"analysing", caller.analysing},
                                    {"waiting", caller.waiting},
                                    {"ending", caller.ending}}},
                                  {"workers", workers}};
    engine->json = document.dump();
    *json = engine->json.c_str();
    return static_cast<int>(CUVEIN_OK);
  });
}
