#include "trace/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "trace/codec.h"
#include "trace/decoders.h"
#include "trace/frame.h"

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
  explicit Implementation(unsigned threads) : threads_(threads) {}
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
    if (ended_) {
      *chunk = last_;
      return Status::kOk;
    }
    if (current_ != nullptr) unused_.push_back(std::move(current_));
    read_ahead();
    if (ahead_.empty()) return status_;
    current_ = std::move(ahead_.front());
    ahead_.pop_front();
    Frame& frame = *current_;
    if (decoders_ != nullptr && decoders_->count() != 0) {
      decoders_->wait(&frame);
    } else {
      frame.decode(&decoder_);
    }
    if (!frame.problem.empty()) {
      // What was read ahead is of no use any more.
      for (; !ahead_.empty(); ahead_.pop_front()) {
        if (decoders_ != nullptr && decoders_->count() != 0) decoders_->wait(ahead_.front().get());
      }
      return at(frame.position, frame.header.ordinal, frame.problem);
    }
    last_ = {frame.header.kind, frame.data, frame.header.decoded, frame.position,
             frame.header.stored + sizeof(frame.header)};
    *chunk = last_;
    ended_ = frame.header.kind == ChunkKind::kEnd;
    return Status::kOk;
  }

  uint64_t size() const { return size_; }
  const std::string& error() const { return error_; }

 private:
  // As many chunks as are decoded at the same time, until one cannot be read.
  void read_ahead() {
    while (status_ == Status::kOk && !end_read_ && ahead_.size() <= threads_) {
      std::unique_ptr<Frame> frame;
      if (unused_.empty()) {
        frame = std::make_unique<Frame>();
      } else {
        frame = std::move(unused_.back());
        unused_.pop_back();
      }
      if (read_chunk(frame.get()) != Status::kOk) return;
      end_read_ = frame->header.kind == ChunkKind::kEnd;
      ahead_.push_back(std::move(frame));
      if (threads_ == 0) return;
      if (decoders_ == nullptr) decoders_ = std::make_unique<Decoders>(threads_);
      if (decoders_->count() != 0) decoders_->start(ahead_.back().get());
    }
  }

  Status read_chunk(Frame* frame) {
    const uint64_t left = size_ - position_;
    if (left == 0)
      return damaged(" ends at byte " + number(size_) +
                     " without an end mark: what wrote it was stopped or is still running");
    if (left < sizeof(ChunkHeader))
      return damaged(" is cut off: it ends at byte " + number(size_) + ", within the chunk header at byte " +
                     number(position_));
    ChunkHeader& header = frame->header;
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
    if (!read(frame->make_room(), header.stored)) return broken();
    frame->position = position_;
    frame->left = left;
    position_ += header.stored + sizeof(header);
    ++ordinal_;
    return Status::kOk;
  }

  Status say(Status status, const std::string& sentence) {
    error_ = sentence;
    return status_ = status;
  }
  Status damaged(const std::string& what) { return damaged(what, ordinal_); }
  // `before`: how many chunks were read before.
  Status damaged(const std::string& what, uint32_t before) {
    return say(Status::kDamaged, path_ + what + (before ? "; everything before it was read" : ""));
  }
  Status at(const std::string& what) { return at(position_, ordinal_, what); }
  Status at(uint64_t position, uint32_t before, const std::string& what) {
    return damaged(" is damaged at byte " + number(position) + what, before);
  }
  Status broken() {
    return read_error_
               ? say(Status::kSystem, "cannot read the trace " + path_ + ": " + std::strerror(read_error_))
               : damaged(" was shortened while it was read, at byte " + number(position_));
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
  uint64_t position_ = 0;  // what comes next was not read yet
  uint32_t ordinal_ = 0;
  bool end_read_ = false, ended_ = false;
  Status status_ = Status::kOk;  // of reading, which may be ahead of what was delivered
  Chunk last_{};
  const unsigned threads_;
  std::unique_ptr<Frame> current_;            // the one last_ lies in
  std::deque<std::unique_ptr<Frame>> ahead_;  // in the order of the file
  std::vector<std::unique_ptr<Frame>> unused_;
  std::unique_ptr<RecordDecoder> decoder_;
  std::unique_ptr<Decoders> decoders_;  // last: its threads use frames
};

TraceReader::TraceReader(unsigned threads) : implementation_(std::make_unique<Implementation>(threads)) {}
TraceReader::~TraceReader() = default;
TraceReader::Status TraceReader::open(const std::string& path) { return implementation_->open(path); }
TraceReader::Status TraceReader::next(Chunk* chunk) { return implementation_->next(chunk); }
uint64_t TraceReader::size() const { return implementation_->size(); }
const std::string& TraceReader::error() const { return implementation_->error(); }

}  // namespace cuvein
