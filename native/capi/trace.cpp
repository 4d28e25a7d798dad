#include <nlohmann/json.hpp>

#include "capi/guard.h"
#include "capi/status.h"
#include "trace/reader.h"
#include "trace/writer.h"

using namespace cuvein;
using namespace cuvein::capi;

struct cuvein_trace_writer {
  std::unique_ptr<TraceWriter> writer;
};

struct cuvein_trace_reader {
  TraceReader reader;
};

namespace {

constexpr char kNoWriter[] = "the trace writer or its argument is missing";

int outcome(const cuvein_trace_writer* writer, bool done) {
  if (done) return CUVEIN_OK;
  return report(writer->writer->broken() ? CUVEIN_IO : CUVEIN_INVALID, writer->writer->error());
}

}  // namespace

int cuvein_trace_create(const char* path, const char* process_json, cuvein_trace_writer** writer) {
  return guarded([&] {
    if (!path || !process_json || !writer) return report(CUVEIN_INVALID, kNoWriter);
    *writer = nullptr;
    if (!nlohmann::json::accept(process_json))
      return report(CUVEIN_INVALID, "the process document is not JSON");
    auto made = std::make_unique<cuvein_trace_writer>();
    std::string error;
    made->writer = TraceWriter::create(path, process_json, &error);
    if (!made->writer) return report(CUVEIN_IO, error);
    *writer = made.release();
    return static_cast<int>(CUVEIN_OK);
  });
}

int cuvein_trace_module(cuvein_trace_writer* writer, const void* cubin, size_t bytes) {
  return guarded([&] {
    if (!writer || (!cubin && bytes)) return report(CUVEIN_INVALID, kNoWriter);
    return outcome(writer, writer->writer->module(cubin, bytes));
  });
}

int cuvein_trace_begin(cuvein_trace_writer* writer, const char* launch_json) {
  return guarded([&] {
    if (!writer || !launch_json) return report(CUVEIN_INVALID, kNoWriter);
    return outcome(writer, writer->writer->begin(launch_json));
  });
}

int cuvein_trace_records(cuvein_trace_writer* writer, const void* records, size_t bytes) {
  return guarded([&] {
    if (!writer || (!records && bytes)) return report(CUVEIN_INVALID, kNoWriter);
    return outcome(writer, writer->writer->records(records, bytes));
  });
}

int cuvein_trace_end(cuvein_trace_writer* writer, uint32_t launch, const char* incomplete) {
  return guarded([&] {
    if (!writer) return report(CUVEIN_INVALID, kNoWriter);
    return outcome(writer, writer->writer->end(launch, incomplete));
  });
}

int cuvein_trace_flush(cuvein_trace_writer* writer) {
  return guarded([&] {
    if (!writer) return report(CUVEIN_INVALID, kNoWriter);
    return outcome(writer, writer->writer->flush());
  });
}

int cuvein_trace_close(cuvein_trace_writer* writer) {
  return guarded([&] {
    if (!writer) return report(CUVEIN_INVALID, kNoWriter);
    const std::unique_ptr<cuvein_trace_writer> owned(writer);
    return outcome(writer, writer->writer->close());
  });
}

int cuvein_trace_open(const char* path, cuvein_trace_reader** reader) {
  return guarded([&] {
    if (!path || !reader) return report(CUVEIN_INVALID, "the path of the trace is missing");
    *reader = nullptr;
    auto made = std::make_unique<cuvein_trace_reader>();
    const auto status = made->reader.open(path);
    if (status != TraceReader::Status::kOk) return report(status_of(status), made->reader.error());
    *reader = made.release();
    return static_cast<int>(CUVEIN_OK);
  });
}

int cuvein_trace_next(cuvein_trace_reader* reader, cuvein_chunk* chunk) {
  return guarded([&] {
    if (!reader || !chunk) return report(CUVEIN_INVALID, "the trace reader or the chunk is missing");
    TraceReader::Chunk read{};
    const auto status = reader->reader.next(&read);
    if (status != TraceReader::Status::kOk) return report(status_of(status), reader->reader.error());
    *chunk = {static_cast<int>(read.kind), read.data, read.bytes, read.offset, read.stored};
    return static_cast<int>(CUVEIN_OK);
  });
}

void cuvein_trace_release(cuvein_trace_reader* reader) { delete reader; }
