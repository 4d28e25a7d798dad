#include "trace/frame.h"

#include <zlib.h>

#include <cstring>

namespace cuvein::trace {

namespace {

void grow(std::vector<unsigned char>* buffer, size_t bytes) {
  if (buffer->size() < bytes) buffer->resize(bytes);
}

// *content: `bytes` bytes with padding after them, which stay where they are when they are not deflated.
bool inflate(const unsigned char* stored, uint32_t stored_bytes, uint32_t bytes,
             std::vector<unsigned char>* buffer, const unsigned char** content) {
  *content = stored;
  if (stored_bytes == bytes) return true;
  grow(buffer, bytes + RecordDecoder::kPadding);
  *content = buffer->data();
  uLongf inflated = bytes;
  return uncompress(buffer->data(), &inflated, stored, stored_bytes) == Z_OK && inflated == bytes;
}

}  // namespace

unsigned char* Frame::make_room() {
  grow(&stored, header.stored + RecordDecoder::kPadding);
  return stored.data();
}

void Frame::decode(std::unique_ptr<RecordDecoder>* decoder) { problem = try_decode(decoder); }

std::string Frame::try_decode(std::unique_ptr<RecordDecoder>* decoder) {
  const std::string kind = name(header.kind);
  if (header.payload_checksum != static_cast<uint32_t>(crc32_z(0, stored.data(), header.stored)))
    return ": the checksum of the " + kind + " chunk is wrong";
  data = stored.data();
  if (header.compression != Compression::kNone &&
      !inflate(stored.data(), header.stored, header.content, &content_, &data))
    return ": the " + kind + " chunk does not inflate";
  if (header.kind == ChunkKind::kRecords) {
    if (const char* what = decode_records(decoder)) return std::string(": the records chunk ") + what;
    data = decoded_.data();
  }
  if (header.kind == ChunkKind::kEnd && header.stored + sizeof(header) != left)
    return ": bytes follow the end mark";
  return "";
}

const char* Frame::decode_records(std::unique_ptr<RecordDecoder>* decoder) {
  RecordsHeader records;
  if (header.stored < sizeof(records)) return "is too short";
  std::memcpy(&records, stored.data(), sizeof(records));
  if (uint64_t{records.tokens_stored} + records.lanes_stored + sizeof(records) != header.stored ||
      !plausible(records.tokens, records.tokens_stored, records.tokens == records.tokens_stored) ||
      !plausible(records.lanes, records.lanes_stored, records.lanes == records.lanes_stored) ||
      header.decoded > uint64_t{records.tokens} * kLongestRecord)
    return "has impossible lengths";
  const unsigned char *tokens, *lanes;
  const unsigned char* const first = stored.data() + sizeof(records);
  if (!inflate(first, records.tokens_stored, records.tokens, &content_, &tokens) ||
      !inflate(first + records.tokens_stored, records.lanes_stored, records.lanes, &lanes_, &lanes))
    return "does not inflate";
  if (*decoder == nullptr) *decoder = std::make_unique<RecordDecoder>();
  return (*decoder)->decode(tokens, records.tokens, lanes, records.lanes, header.decoded, &decoded_);
}

}  // namespace cuvein::trace
