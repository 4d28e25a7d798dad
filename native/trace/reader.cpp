#include "trace/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "trace/codec.h"

namespace cuvein {

using namespace trace;

namespace {

std::string number(uint64_t value) { return std::to_string(value); }

uint32_t crc(const void* data, size_t bytes) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

}  // namespace

class TraceReader::Implementation {
 public:
  ~Implementation() {
    if (file_ >= 0) ::close(file_);
  }

  Status open(const std::string& path) {
    path_ = path;
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (file_ < 0 || ::fstat(file_, &status) != 0)
      return say(Status::kSystem, "cannot open the trace " + path + ": " + std::strerror(errno));
    if (!S_ISREG(status.st_mode))
      return say(Status::kSystem, "cannot read a trace from " + path + ": it is " +
                                      (S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"));
    size_ = static_cast<uint64_t>(status.st_size);
    if (size_ == 0) return say(Status::kForeign, path + " is empty; it is not a cuvein trace");

    FileHeader header{};
    const size_t present = size_ < sizeof(header) ? static_cast<size_t>(size_) : sizeof(header);
    if (!read(&header, present)) return broken();
    if (std::memcmp(header.magic, kMagic, std::min(present, sizeof(kMagic))) != 0)
      return say(Status::kForeign, path + " is not a cuvein trace; it does not begin like one");
    if (present < sizeof(header))
      return say(Status::kDamaged,
                 path + " is cut off: it ends at byte " + number(size_) + ", within its header");
    if (header.checksum != crc(&header, offsetof(FileHeader, checksum)))
      return say(Status::kDamaged, path + " is damaged at byte 8: the checksum of its header is wrong");
    if (header.version > kVersion)
      return say(Status::kNewer, path + " is of version " + number(header.version) +
                                     " of the trace format and this cuvein (" CUVEIN_VERSION
                                     ") reads up to version " +
                                     number(kVersion) + "; use a newer cuvein");
    if (header.version == 0)
      return say(Status::kDamaged, path + " is damaged at byte 8: there is no version 0 of the trace format");
    position_ = sizeof(header);
    return Status::kOk;
  }

  Status next(Chunk* chunk) {
    if (status_ != Status::kOk) return status_;
    if (ended_) {
      *chunk = last_;
      return Status::kOk;
    }
    const uint64_t left = size_ - position_;
    if (left == 0)
      return damaged(" ends at byte " + number(size_) +
                     " without an end mark: what wrote it was stopped or is still running");
    if (left < sizeof(ChunkHeader))
      return damaged(" is cut off: it ends at byte " + number(size_) + ", within the chunk header at byte " +
                     number(position_));
    ChunkHeader header;
    if (!read(&header, sizeof(header))) return broken();
    if (header.marker != kChunkMarker) return at(": no chunk begins there");
    if (header.header_checksum != crc(&header, offsetof(ChunkHeader, header_checksum)))
      return at(": the checksum of the chunk header is wrong");
    const char* kind = name(header.kind);
    if (!kind || header.compression > Compression::kDeflate)
      return say(Status::kNewer, path_ + " has at byte " + number(position_) +
                                     " a chunk of a kind that this cuvein (" CUVEIN_VERSION
                                     ") does not know; use a newer cuvein");
    if (header.ordinal != ordinal_)
      return at(": chunk " + number(ordinal_) + " should be there and it is chunk " + number(header.ordinal));
    if (header.stored > left - sizeof(header))
      return damaged(" is cut off: the " + std::string(kind) + " chunk at byte " + number(position_) +
                     " needs " + number(header.stored) + " bytes and " + number(left - sizeof(header)) +
                     " follow");
    const bool records = header.kind == ChunkKind::kRecords;
    const bool plain = header.compression == Compression::kNone;
    if (header.content > kMostContent || header.decoded > (records ? kMostDecoded : kMostContent) ||
        (records ? !plain : header.decoded != header.content) ||
        !plausible(header.content, header.stored, plain))
      return at(": the lengths of the " + std::string(kind) + " chunk are impossible");

    grow(&stored_, header.stored + RecordDecoder::kPadding);
    if (!read(stored_.data(), header.stored)) return broken();
    if (header.payload_checksum != crc(stored_.data(), header.stored))
      return at(": the checksum of the " + std::string(kind) + " chunk is wrong");
    const unsigned char* content = stored_.data();
    if (!plain && !inflate(stored_.data(), header.stored, header.content, &content_, &content))
      return at(": the " + std::string(kind) + " chunk does not inflate");
    if (records) {
      if (const char* problem = decode_records(header))
        return at(std::string(": the records chunk ") + problem);
      content = decoded_.data();
    }
    if (header.kind == ChunkKind::kEnd && header.stored + sizeof(header) != left)
      return at(": bytes follow the end mark");

    last_ = {header.kind, content, header.decoded, position_, header.stored + sizeof(header)};
    *chunk = last_;
    position_ += last_.stored;
    ++ordinal_;
    ended_ = header.kind == ChunkKind::kEnd;
    return Status::kOk;
  }

  uint64_t size() const { return size_; }
  const std::string& error() const { return error_; }

 private:
  Status say(Status status, const std::string& sentence) {
    error_ = sentence;
    return status_ = status;
  }
  Status damaged(const std::string& what) {
    return say(Status::kDamaged, path_ + what + (ordinal_ ? "; everything before it was read" : ""));
  }
  Status at(const std::string& what) { return damaged(" is damaged at byte " + number(position_) + what); }
  Status broken() {
    return read_error_
               ? say(Status::kSystem, "cannot read the trace " + path_ + ": " + std::strerror(read_error_))
               : damaged(" was shortened while it was read, at byte " + number(position_));
  }

  static bool plausible(uint64_t content, uint64_t stored, bool plain) {
    return plain ? content == stored : content > stored && content <= stored * kMostInflation;
  }

  // *content: `bytes` bytes with padding after them, which stay where they are when they are not deflated.
  static bool inflate(const unsigned char* stored, uint32_t stored_bytes, uint32_t bytes,
                      std::vector<unsigned char>* buffer, const unsigned char** content) {
    *content = stored;
    if (stored_bytes == bytes) return true;
    grow(buffer, bytes + RecordDecoder::kPadding);
    *content = buffer->data();
    uLongf inflated = bytes;
    return uncompress(buffer->data(), &inflated, stored, stored_bytes) == Z_OK && inflated == bytes;
  }

  const char* decode_records(const ChunkHeader& chunk) {
    RecordsHeader header;
    if (chunk.stored < sizeof(header)) return "is too short";
    std::memcpy(&header, stored_.data(), sizeof(header));
    if (uint64_t{header.tokens_stored} + header.lanes_stored + sizeof(header) != chunk.stored ||
        !plausible(header.tokens, header.tokens_stored, header.tokens == header.tokens_stored) ||
        !plausible(header.lanes, header.lanes_stored, header.lanes == header.lanes_stored) ||
        chunk.decoded > uint64_t{header.tokens} * kLongestRecord)
      return "has impossible lengths";
    const unsigned char *tokens, *lanes;
    if (!inflate(stored_.data() + sizeof(header), header.tokens_stored, header.tokens, &content_, &tokens) ||
        !inflate(stored_.data() + sizeof(header) + header.tokens_stored, header.lanes_stored, header.lanes,
                 &lanes_, &lanes))
      return "does not inflate";
    if (!decoder_) decoder_ = std::make_unique<RecordDecoder>();
    return decoder_->decode(tokens, header.tokens, lanes, header.lanes, chunk.decoded, &decoded_);
  }

  static void grow(std::vector<unsigned char>* buffer, size_t bytes) {
    if (buffer->size() < bytes) buffer->resize(bytes);
  }

  bool read(void* to, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
      const ssize_t got = ::read(file_, static_cast<char*>(to) + done, bytes - done);
      if (got < 0 && errno == EINTR) continue;
      read_error_ = got < 0 ? errno : 0;
      if (got <= 0) return false;
      done += static_cast<size_t>(got);
    }
    return true;
  }

  std::string path_;
  std::string error_;
  int file_ = -1;
  int read_error_ = 0;
  uint64_t size_ = 0;
  uint64_t position_ = 0;
  uint32_t ordinal_ = 0;
  bool ended_ = false;
  Status status_ = Status::kOk;
  Chunk last_{};
  std::vector<unsigned char> stored_, content_, lanes_, decoded_;
  std::unique_ptr<RecordDecoder> decoder_;  // its tables are large and many readers want documents only
};

TraceReader::TraceReader() : implementation_(std::make_unique<Implementation>()) {}
TraceReader::~TraceReader() = default;
TraceReader::Status TraceReader::open(const std::string& path) { return implementation_->open(path); }
TraceReader::Status TraceReader::next(Chunk* chunk) { return implementation_->next(chunk); }
uint64_t TraceReader::size() const { return implementation_->size(); }
const std::string& TraceReader::error() const { return implementation_->error(); }

}  // namespace cuvein
