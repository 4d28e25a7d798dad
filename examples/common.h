// What every example shares: checked CUDA calls, arguments, device arrays, comparison with the CPU's result.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

// The launch itself and everything the kernel did.
#define CHECK_KERNEL()              \
  do {                              \
    CHECK(cudaGetLastError());      \
    CHECK(cudaDeviceSynchronize()); \
  } while (0)

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
  std::exit(1);
}

// `PROGRAM [size] [--flag]... [--option number]...`
class Arguments {
 public:
  Arguments(int count, char** values) : program_(values[0]), values_(values + 1, values + count) {}

  // Takes --NAME away if it was given.
  bool flag(const std::string& name) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] == "--" + name) {
        values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
    }
    return false;
  }

  // Takes the next number away; it must be a positive multiple of `unit`.
  int number(const char* name, int preset, int unit = 1) {
    return values_.empty() ? preset : take(0, name, unit);
  }

  // Takes --NAME and the number after it away, if it was given.
  int option(const std::string& name, int preset) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] != "--" + name) continue;
      values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(i));
      if (i == values_.size()) fail("--" + name + " needs a number");
      return take(i, name, 1);
    }
    return preset;
  }

  // Takes the next word away.
  std::string word(const std::string& preset) {
    if (values_.empty()) return preset;
    const std::string value = values_[0];
    values_.erase(values_.begin());
    return value;
  }

  // Call after the last of the above: nothing may be left.
  void done() const {
    if (!values_.empty()) fail("does not know the argument '" + values_[0] + "'");
  }

 private:
  int take(size_t position, const std::string& name, int unit) {
    const std::string& text = values_[position];
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value <= 0 || value > (1L << 30) || value % unit != 0) {
      fail(name + " is '" + text + "', should be a positive multiple of " + std::to_string(unit));
    }
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(position));
    return static_cast<int>(value);
  }

  [[noreturn]] void fail(const std::string& message) const {
    std::fprintf(stderr, "%s: %s\n", program_.c_str(), message.c_str());
    std::exit(2);
  }

  std::string program_;
  std::vector<std::string> values_;
};

// An array on the device.
template <class T>
class Array {
 public:
  explicit Array(size_t size) : size_(size) { CHECK(cudaMalloc(&data_, size * sizeof(T))); }
  explicit Array(const std::vector<T>& values) : Array(values.size()) { set(values); }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* get() const { return data_; }
  void set(const std::vector<T>& values) {
    CHECK(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> host() const {
    std::vector<T> values(size_);
    CHECK(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

// True when all values agree; otherwise says where the first difference is.
template <class T>
bool agree(const char* what, const std::vector<T>& found, const std::vector<T>& expected,
           double tolerance = 0) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = static_cast<double>(found[i]), b = static_cast<double>(expected[i]);
    if (!(std::fabs(a - b) <= tolerance * std::fmax(1.0, std::fabs(b)))) {
      std::printf("%s: element %zu is %.9g, should be %.9g\n", what, i, a, b);
      return false;
    }
  }
  return true;
}

// The last line of every example.
inline int finish(bool good) {
  if (good) std::printf("ok\n");
  return good ? 0 : 1;
}
