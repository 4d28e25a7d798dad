#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "profile/document.h"
#include "profile/write.h"

namespace cuvein {
namespace {

// 0 or the reason.
int write_all(int file, const std::string& content) {
  int problem = 0;
  for (size_t done = 0; done < content.size() && !problem;) {
    const ssize_t written = write_quietly(file, content.data() + done, content.size() - done);
    if (written > 0)
      done += static_cast<size_t>(written);
    else if (written == 0 || errno != EINTR)
      problem = written == 0 ? ENOSPC : errno;
  }
  return problem;
}

// Writes a file that has no name and names it when it is whole: the folder changes once, where creating and
// renaming change it three times, which takes longer than everything else about a small launch. False where
// that cannot be done: not on this file system, the name is taken, no room.
bool write_and_name(const std::string& folder, const std::string& path, const std::string& content) {
  static std::atomic<bool> tried_in_vain{false};  // what the system does not have, it does not have later
  if (tried_in_vain) return false;
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (file < 0) {
    tried_in_vain = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
    return false;
  }
  const std::string nameless = "/proc/self/fd/" + std::to_string(file);
  bool done = write_all(file, content) == 0;
  if (done && ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    tried_in_vain = errno != EEXIST && errno != ENOSPC && errno != EDQUOT;
    done = false;
  }
  ::close(file);
  return done;
}

}  // namespace

bool write_atomically(const std::string& path, const std::string& content, std::string* error) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  // No fsync here and below: it costs milliseconds a launch, and what is promised is safety from a killed
  // program, not from a power cut.
  // What is there already can only be replaced.
  if (::access(path.c_str(), F_OK) != 0 && write_and_name(folder, path, content)) return true;

  // In the same folder, since only within a file system is renaming one step; hidden, so that nobody reads
  // it.
  static std::atomic<unsigned> counter{0};
  const std::string leaf = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string temporary =
      folder + "." + leaf + "." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  auto fail = [&](int reason) {
    *error = "cannot write " + path + ": " + std::strerror(reason);
    return false;
  };
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return fail(errno);
  int problem = write_all(file, content);
  if (::close(file) != 0 && !problem) problem = errno;
  if (!problem && ::rename(temporary.c_str(), path.c_str()) != 0) problem = errno;
  if (!problem) return true;
  ::unlink(temporary.c_str());
  return fail(problem);
}

}  // namespace cuvein
