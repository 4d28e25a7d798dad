#include "trace/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "profile/document.h"
#include "profile/write.h"
#include "trace/codec.h"
#include "trace/deflate.h"
#include "trace/format.h"

namespace cuvein {

using namespace trace;

namespace {

// Large enough for deflate and contexts to pay, small enough that little is lost with a killed program.
constexpr size_t kChunkDecodedBytes = 16u << 20;
constexpr std::chrono::seconds kChunkAge{1};

}  // namespace

class TraceWriter::Implementation {
 public:
  ~Implementation() {
    // A forked child has only the remains of the threads: waiting for them would never end.
    if (owner_ != ::getpid()) static_cast<void>(deflater_.release());
    if (file_ >= 0) ::close(file_);
  }

  bool open(const std::string& path, const std::string& process_json) {
    path_ = path;
    if (!nlohmann::json::accept(process_json)) return refuse("the process document is not JSON");
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) return fail("cannot create the trace " + path + ": " + std::strerror(errno));
    FileHeader header{};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.version = kVersion;
    header.checksum = crc(&header, offsetof(FileHeader, checksum));
    return write(&header, sizeof(header)) &&
           chunk(ChunkKind::kProcess, process_json.data(), process_json.size());
  }

  bool module(const void* cubin, size_t bytes) {
    if (!usable()) return false;
    if (!modules_.insert(sha256_hex(cubin, bytes)).second) return true;
    return flush() && chunk(ChunkKind::kModule, cubin, bytes);
  }

  bool begin(const std::string& launch_json) {
    if (!usable()) return false;
    LaunchShape shape;
    try {
      shape = launch_shape(launch_json);
    } catch (const std::invalid_argument& problem) {
      return refuse(problem.what());
    }
    if (open_launches_.count(shape.sequence))
      return refuse("launch " + std::to_string(shape.sequence) + " was begun already");
    if (!flush() || !chunk(ChunkKind::kLaunchBegin, launch_json.data(), launch_json.size())) return false;
    open_launches_.insert(shape.sequence);
    return true;
  }

  bool records(const void* data, size_t bytes) {
    if (!usable() || !check(data, bytes)) return false;
    const auto* record = static_cast<const unsigned char*>(data);
    const unsigned char* const end = record + bytes;
    while (record < end) {
      const size_t length = size_t{record[0]} * kRecordUnit;
      encoder_.append(record, length);
      record += length;
      if ((encoder_.packed().decoded_bytes >= kChunkDecodedBytes || encoder_.full()) && !hand_over())
        return false;
    }
    return std::chrono::steady_clock::now() - flushed_ < kChunkAge || flush();
  }

  bool end(uint32_t launch, const char* incomplete, const std::string& tensors) {
    if (!usable()) return false;
    if (!open_launches_.count(launch)) return refuse("launch " + std::to_string(launch) + " is not open");
    nlohmann::ordered_json document;
    document["sequence"] = launch;
    document["incomplete"] = nullptr;
    if (incomplete) document["incomplete"] = incomplete;
    if (!tensors.empty()) {
      document["tensors"] = nlohmann::ordered_json::parse(tensors, nullptr, false);
      if (document["tensors"].is_discarded()) return refuse("the list of tensors is not JSON");
    }
    const std::string text = document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    if (!flush() || !chunk(ChunkKind::kLaunchEnd, text.data(), text.size())) return false;
    open_launches_.erase(launch);
    checked_ = 0;
    return true;
  }

  bool flush() {
    if (!usable()) return false;
    flushed_ = std::chrono::steady_clock::now();
    while (deflater_ && !deflater_->empty())
      if (!write_oldest()) return false;
    const PackedRecords& packed = encoder_.packed();
    if (packed.decoded_bytes == 0) return true;
    const size_t decoded = packed.decoded_bytes;
    begin_chunk();
    append_records(&output_, packed);
    encoder_.clear();
    return end_chunk(ChunkKind::kRecords, output_.size() - sizeof(ChunkHeader), decoded);
  }

  bool close() {
    if (closed_) return !broken_;
    bool whole = flush() && chunk(ChunkKind::kEnd, nullptr, 0);  // not in a forked child
    closed_ = true;
    if (file_ < 0) return whole;
    // A full disk may show only here (delayed allocation, network file systems).
    if (::close(file_) != 0 && whole)
      whole = fail("cannot write the trace " + path_ + ": " + std::strerror(errno));
    file_ = -1;
    return whole;
  }

  bool broken() const { return broken_; }
  const std::string& error() const { return error_; }

 private:
  static uint32_t crc(const void* data, size_t bytes) {
    return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), bytes));
  }

  bool refuse(const std::string& why) {
    error_ = why;
    return false;
  }

  bool fail(const std::string& why) {
    broken_ = true;
    error_ = why;
    return false;
  }

  bool usable() {
    if (broken_) return false;  // error_ already says why
    if (closed_) return refuse("the trace " + path_ + " is closed");
    if (owner_ != ::getpid())
      return refuse("the trace " + path_ + " is written by the process that forked this one");
    return true;
  }

  // All or nothing: the records of one call are looked at before the first is taken.
  bool check(const void* data, size_t bytes) {
    const auto* record = static_cast<const unsigned char*>(data);
    for (size_t at = 0, length; at < bytes; at += length) {
      if (const char* problem = check_record(record + at, bytes - at, &length))
        return refuse("the data at byte " + std::to_string(at) + " of these records " + problem);
      if (static_cast<RecordKind>(record[at + 1]) == RecordKind::kPadding) continue;
      uint32_t launch;
      std::memcpy(&launch, record + at + offsetof(RecordHeader, launch), sizeof(launch));
      if (launch == checked_ && launch != 0) continue;
      if (!open_launches_.count(launch))
        return refuse("the record at byte " + std::to_string(at) + " belongs to launch " +
                      std::to_string(launch) + ", which is not open");
      checked_ = launch;
    }
    return true;
  }

  // A full chunk: there is a stream of records, so it pays to deflate beside it.
  bool hand_over() {
    if (!deflater_) deflater_ = std::make_unique<Deflater>();
    deflater_->put(encoder_.take());
    encoder_.clear();
    while (deflater_->ready() || deflater_->busy())
      if (!write_oldest()) return false;
    return true;
  }

  bool write_oldest() {
    const std::unique_ptr<Deflater::Chunk> done = deflater_->take();
    if (done->failed) return fail("cannot write the trace " + path_ + ": there is not enough memory");
    begin_chunk();
    output_.insert(output_.end(), done->payload.begin(), done->payload.end());
    return end_chunk(ChunkKind::kRecords, done->payload.size(), done->records.decoded_bytes);
  }

  bool chunk(ChunkKind kind, const void* data, size_t bytes) {
    if (bytes > kMostContent)
      return refuse(std::string("a ") + name(kind) + " of more than 1 GiB does not fit a trace");
    begin_chunk();
    append_deflated(&output_, static_cast<const unsigned char*>(data), bytes);
    return end_chunk(kind, bytes, bytes);
  }

  // Header and payload are gathered: a chunk is one write, which leaves fewer half chunks behind.
  void begin_chunk() { output_.assign(sizeof(ChunkHeader), 0); }

  bool end_chunk(ChunkKind kind, size_t content, size_t decoded) {
    const size_t stored = output_.size() - sizeof(ChunkHeader);
    ChunkHeader header{};
    header.marker = kChunkMarker;
    header.kind = kind;
    header.compression = stored < content ? Compression::kDeflate : Compression::kNone;
    header.stored = static_cast<uint32_t>(stored);
    header.content = static_cast<uint32_t>(content);
    header.decoded = static_cast<uint32_t>(decoded);
    header.ordinal = ordinal_++;
    header.payload_checksum = crc(output_.data() + sizeof(header), stored);
    header.header_checksum = crc(&header, offsetof(ChunkHeader, header_checksum));
    std::memcpy(output_.data(), &header, sizeof(header));
    return write(output_.data(), output_.size());
  }

  bool write(const void* data, size_t bytes) {
    const auto* from = static_cast<const char*>(data);
    for (size_t done = 0; done < bytes;) {
      const ssize_t written = write_quietly(file_, from + done, bytes - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        const std::string reason = written < 0 ? std::strerror(errno) : "the disk takes no more";
        // Only whole chunks stay. A reader copes with half a chunk too, so this may fail.
        struct stat status;
        if (done > 0 && ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) {
          [[maybe_unused]] int ignored = ::ftruncate(file_, static_cast<off_t>(whole_));
        }
        return fail("cannot write the trace " + path_ + ": " + reason + "; it ends at byte " +
                    std::to_string(whole_));
      }
      done += static_cast<size_t>(written);
    }
    whole_ += bytes;
    return true;
  }

  std::string path_;
  std::string error_;
  int file_ = -1;
  bool broken_ = false;
  bool closed_ = false;
  uint64_t whole_ = 0;  // bytes of the file up to the end of its last whole chunk
  uint32_t ordinal_ = 0;
  std::set<std::string> modules_;
  std::set<uint32_t> open_launches_;
  uint32_t checked_ = 0;  // an open launch, so that the set is not asked for each record
  RecordEncoder encoder_;
  std::unique_ptr<Deflater> deflater_;  // from the first full chunk on
  const pid_t owner_ = ::getpid();
  std::vector<unsigned char> output_;
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

TraceWriter::TraceWriter(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
TraceWriter::~TraceWriter() = default;

std::unique_ptr<TraceWriter> TraceWriter::create(const std::string& path, const std::string& process_json,
                                                 std::string* error) {
  auto implementation = std::make_unique<Implementation>();
  if (!implementation->open(path, process_json)) {
    *error = implementation->error();
    return nullptr;
  }
  return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(implementation)));
}

bool TraceWriter::module(const void* cubin, size_t bytes) { return implementation_->module(cubin, bytes); }
bool TraceWriter::begin(const std::string& launch_json) { return implementation_->begin(launch_json); }
bool TraceWriter::records(const void* records, size_t bytes) {
  return implementation_->records(records, bytes);
}
bool TraceWriter::end(uint32_t launch, const char* incomplete, const std::string& tensors) {
  return implementation_->end(launch, incomplete, tensors);
}
bool TraceWriter::flush() { return implementation_->flush(); }
bool TraceWriter::close() { return implementation_->close(); }
bool TraceWriter::broken() const { return implementation_->broken(); }
const std::string& TraceWriter::error() const { return implementation_->error(); }

}  // namespace cuvein
