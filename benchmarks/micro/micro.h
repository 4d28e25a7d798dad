// What the programs of microbenchmarks share: memory, and a command line that chooses kernels.
//
//   PROGRAM KERNEL[:NUMBER]...     for example: banks stride4:8:32 column:8:1
//
// launches the kernels named, one after the other, with the numbers as parameters in the order in which the
// table at the end of each program names them.
#pragma once

#include "common.h"

// Arrays of zeros. `input` is never written; what is in the others depends on earlier launches.
class Memory {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;

  template <class T>
  const T* input() const {
    return reinterpret_cast<const T*>(input_.get());
  }
  template <class T>
  T* output() const {
    return reinterpret_cast<T*>(output_.get());
  }
  template <class T>
  T* other() const {
    return reinterpret_cast<T*>(other_.get());
  }
  // 0 before each launch, provided that each launch leaves it so.
  unsigned* counter() const { return counter_.get(); }

 private:
  const std::vector<char> zeros_ = std::vector<char>(kBytes);
  const Array<char> input_{zeros_}, output_{zeros_}, other_{zeros_};
  const Array<unsigned> counter_{std::vector<unsigned>(1)};
};

struct Kernel {
  std::string name;
  std::vector<std::string> parameters;
  void (*launch)(const Memory& memory, const int* parameters);
};

inline int main_of(const std::vector<Kernel>& kernels, int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "give kernels to launch:\n");
    for (const Kernel& kernel : kernels) {
      std::fprintf(stderr, "  %s", kernel.name.c_str());
      for (const std::string& parameter : kernel.parameters) std::fprintf(stderr, ":%s", parameter.c_str());
      std::fprintf(stderr, "\n");
    }
    return 2;
  }
  const Memory memory;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string name = word.substr(0, word.find(':'));
    std::vector<int> numbers;
    for (size_t at = word.find(':'); at != std::string::npos; at = word.find(':', at + 1)) {
      numbers.push_back(std::atoi(word.c_str() + at + 1));
    }
    const Kernel* chosen = nullptr;
    for (const Kernel& kernel : kernels) {
      if (kernel.name == name && kernel.parameters.size() == numbers.size()) chosen = &kernel;
    }
    if (chosen == nullptr) {
      std::fprintf(stderr, "no kernel '%s' with %zu parameters; without arguments, %s lists them\n",
                   name.c_str(), numbers.size(), argv[0]);
      return 2;
    }
    chosen->launch(memory, numbers.data());
    CHECK_KERNEL();
  }
  return finish(true);
}
