#include "monitor/python_frames.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>

namespace cuvein {
namespace {

// Where CPython keeps what is needed, in bytes from the start of each structure.
struct Layout {
  bool heap_frames = false;  // frames are objects (3.10), with the instruction as a number of 2-byte units
  int64_t frame_holder = 0;  // thread state: of the frame, or of what holds it
  int64_t held_frame = -1;   // in the holder; -1: there is no holder
  int64_t previous = 0, code = 0, instruction = 0;
  int64_t owner = -1;  // -1: all frames are of Python code
  int64_t file = 0, name = 0;
  int64_t first_instruction = 0;  // in the code object
};

// Frames with an owner from here on were made by C code for its own ends.
constexpr uint8_t kOwnedByC = 3;

constexpr int64_t kType = 8;  // in every object: its type
constexpr size_t kMostText = 1000;

// From 3.13 on CPython describes itself to debuggers; this is how that begins.
struct DebugOffsets {
  char cookie[8];
  uint64_t version;
  uint64_t free_threaded;
};

struct Functions {
  int (*line)(const void* code, int byte) = nullptr;
  ssize_t (*length)(const void* text) = nullptr;
  uint32_t (*character)(const void* text, ssize_t index) = nullptr;
  const void* code_type = nullptr;
  const void* text_type = nullptr;
};

struct Python {
  Functions call;
  Layout layout;
  std::string missing;  // why frames cannot be read; empty: they can
};

template <typename T>
void load(T* target, const char* symbol) {
  *target = reinterpret_cast<T>(dlsym(RTLD_DEFAULT, symbol));
}

const char* read_pointer(const void* base, int64_t offset) {
  const char* value;
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

Layout of_310() {
  Layout layout;
  layout.heap_frames = true;
  layout.frame_holder = 24;
  layout.previous = 24;
  layout.code = 32;
  layout.instruction = 96;
  layout.file = 104;
  layout.name = 112;
  return layout;
}

Layout of_311() {
  Layout layout;
  layout.frame_holder = 56;
  layout.held_frame = 8;
  layout.code = 32;
  layout.previous = 48;
  layout.instruction = 56;
  layout.file = 112;
  layout.name = 128;
  layout.first_instruction = 184;
  return layout;
}

Layout of_312() {
  Layout layout = of_311();
  layout.held_frame = 0;
  layout.code = 0;
  layout.previous = 8;
  layout.owner = 70;
  layout.first_instruction = 192;
  return layout;
}

// CPython's description of itself lists offsets in groups, each headed by the size of the structure. What
// stands between differs by version; the thread's own number in its state tells whether this reading is
// right.
std::optional<Layout> described(int minor, const void* state) {
  const auto* runtime = static_cast<const char*>(dlsym(RTLD_DEFAULT, "_PyRuntime"));
  if (runtime == nullptr) return std::nullopt;
  DebugOffsets head;
  std::memcpy(&head, runtime, sizeof head);
  if (std::memcmp(head.cookie, "xdebugpy", 8) != 0 || static_cast<int>(head.version >> 16 & 0xff) != minor ||
      head.free_threaded != 0)
    return std::nullopt;
  const auto field = [&](int index) {
    uint64_t value;
    std::memcpy(&value, runtime + sizeof head + sizeof value * static_cast<size_t>(index), sizeof value);
    return static_cast<int64_t>(value);
  };
  const bool old = minor == 13;
  const int thread = old ? 16 : 19;
  const int frame = thread + 9;
  const int code = frame + (old ? 6 : 8);
  const auto within = [&](int index, int group) {
    return field(index) >= 0 && field(index) + 8 <= field(group) && field(group) < 1 << 16;
  };
  for (const int index : {thread + 4, thread + 5})
    if (!within(index, thread)) return std::nullopt;
  for (const int index : {frame + 1, frame + 2, frame + 3})
    if (!within(index, frame)) return std::nullopt;
  for (const int index : {code + 1, code + 3})
    if (!within(index, code)) return std::nullopt;
  if (reinterpret_cast<uint64_t>(read_pointer(state, field(thread + 5))) != pthread_self())
    return std::nullopt;
  Layout layout;
  layout.frame_holder = field(thread + 4);
  layout.previous = field(frame + 1);
  layout.code = field(frame + 2);
  layout.instruction = field(frame + 3);
  layout.owner = field(frame + 5);
  layout.file = field(code + 1);
  layout.name = field(code + 3);
  layout.first_instruction = field(code + 9);
  return layout;
}

Python* find(const void* state) {
  auto* python = new Python;
  Functions& call = python->call;
  load(&call.line, "PyCode_Addr2Line");
  load(&call.length, "PyUnicode_GetLength");
  load(&call.character, "PyUnicode_ReadChar");
  call.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  call.text_type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
  const char* (*version)() = nullptr;
  load(&version, "Py_GetVersion");
  const std::string name = version != nullptr ? std::string(version(), std::strcspn(version(), " ")) : "";
  std::optional<Layout> layout;
  int minor = 0;
  // A build for debugging Python itself has other structures; so has PyPy, which lacks most of the functions.
  if (std::sscanf(name.c_str(), "3.%d", &minor) == 1 && call.line != nullptr && call.length != nullptr &&
      call.character != nullptr && call.code_type != nullptr && call.text_type != nullptr &&
      dlsym(RTLD_DEFAULT, "_Py_NegativeRefcount") == nullptr) {
    if (minor == 10) layout = of_310();
    if (minor == 11) layout = of_311();
    if (minor == 12) layout = of_312();
    if (minor == 13 || minor == 14) layout = described(minor, state);
  }
  if (layout) {
    python->layout = *layout;
  } else {
    python->missing = "Python frames are not known: cuvein cannot read those of Python " + name;
  }
  return python;
}

// UTF-8; by the functions of the stable ABI, which only read.
std::string text(const Functions& call, const char* object) {
  std::string result;
  if (object == nullptr || read_pointer(object, kType) != call.text_type) return result;
  const ssize_t length = call.length(object);
  for (ssize_t index = 0; index < length && result.size() < kMostText; ++index) {
    const uint32_t c = call.character(object, index);
    if (c < 0x80) {
      result += static_cast<char>(c);
    } else if (c < 0x800) {
      result += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    } else if (c < 0x10000) {
      result += {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
                 static_cast<char>(0x80 | (c & 0x3f))};
    } else {
      result += {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3f)),
                 static_cast<char>(0x80 | (c >> 6 & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
    }
  }
  return result;
}

}  // namespace

std::vector<PythonFrame> python_frames(size_t most, std::string* missing) {
  // Python may be loaded at any time, and finished before the process is.
  static void* (*thread_state)() = nullptr;
  static int (*initialised)() = nullptr;
  static std::mutex mutex;
  static Python* found = nullptr;
  Python* python;
  const char* state;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (thread_state == nullptr) {
      load(&initialised, "Py_IsInitialized");
      load(&thread_state, "PyGILState_GetThisThreadState");
    }
    if (thread_state == nullptr || initialised == nullptr || initialised() == 0) return {};
    state = static_cast<const char*>(thread_state());
    if (state == nullptr) return {};
    if (found == nullptr) found = find(state);
    python = found;
  }
  if (!python->missing.empty()) {
    *missing = python->missing;
    return {};
  }
  const Functions& call = python->call;
  const Layout& layout = python->layout;
  std::vector<PythonFrame> frames;
  const char* frame = read_pointer(state, layout.frame_holder);
  if (frame != nullptr && layout.held_frame >= 0) frame = read_pointer(frame, layout.held_frame);
  for (; frame != nullptr; frame = read_pointer(frame, layout.previous)) {
    if (layout.owner >= 0 && static_cast<uint8_t>(frame[layout.owner]) >= kOwnedByC) continue;
    // 3.14 keeps marks in the low bits.
    const auto tagged = reinterpret_cast<uint64_t>(read_pointer(frame, layout.code));
    const auto* code = reinterpret_cast<const char*>(tagged & ~uint64_t{7});
    if (code == nullptr || read_pointer(code, kType) != call.code_type) continue;
    if (frames.size() == most) {
      *missing = "the outermost Python frames are not listed";
      break;
    }
    int byte;
    if (layout.heap_frames) {
      std::memcpy(&byte, frame + layout.instruction, sizeof byte);
      byte *= 2;
    } else {
      byte = static_cast<int>(read_pointer(frame, layout.instruction) - (code + layout.first_instruction));
    }
    frames.push_back({text(call, read_pointer(code, layout.file)),
                      text(call, read_pointer(code, layout.name)), std::max(call.line(code, byte), 0)});
  }
  return frames;
}

}  // namespace cuvein
