#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "profile/document.h"
#include "profile/write.h"

namespace cuvein {

bool write_atomically(const std::string& path, const std::string& content, std::string* error) {
  // In the same folder, since only within a file system is renaming one step; hidden, so that nobody reads
  // it.
  static std::atomic<unsigned> counter{0};
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string leaf = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string temporary =
      folder + "." + leaf + "." + std::to_string(::getpid()) + "." + std::to_string(counter++);

  auto fail = [&](int reason) {
    *error = "cannot write " + path + ": " + std::strerror(reason);
    return false;
  };
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return fail(errno);
  int problem = 0;
  for (size_t done = 0; done < content.size() && !problem;) {
    const ssize_t written = write_quietly(file, content.data() + done, content.size() - done);
    if (written > 0)
      done += static_cast<size_t>(written);
    else if (written == 0 || errno != EINTR)
      problem = written == 0 ? ENOSPC : errno;
  }
  // No fsync: it costs milliseconds a launch, and what is promised is safety from a killed program, not from
  // a power cut.
  if (::close(file) != 0 && !problem) problem = errno;
  if (!problem && ::rename(temporary.c_str(), path.c_str()) != 0) problem = errno;
  if (!problem) return true;
  ::unlink(temporary.c_str());
  return fail(problem);
}

}  // namespace cuvein
