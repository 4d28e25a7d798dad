#include "profile/write.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace cuvein {

namespace {

// Calls what may fail with EFBIG or EPIPE; like the call itself it returns 0 or the reason.
template <typename Call>
int quietly(Call call) {
  sigset_t both, before, waiting;
  sigemptyset(&both);
  sigaddset(&both, SIGXFSZ);
  sigaddset(&both, SIGPIPE);
  sigpending(&waiting);
  pthread_sigmask(SIG_BLOCK, &both, &before);
  const int reason = call();
  if (reason == EFBIG || reason == EPIPE) {
    // Takes the signal that was just sent to this thread, unless the program had one waiting already.
    const int sent = reason == EFBIG ? SIGXFSZ : SIGPIPE;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sent);
    const timespec at_once{};
    if (!sigismember(&waiting, sent)) sigtimedwait(&one, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return reason;
}

}  // namespace

ssize_t write_quietly(int file, const void* data, size_t bytes) {
  ssize_t written = 0;
  errno = quietly([&] {
    written = ::write(file, data, bytes);
    return written < 0 ? errno : 0;
  });
  return written;
}

bool reserve_quietly(int file, size_t bytes) {
  const int refused =
      quietly([&] { return ::fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno; });
  if (refused != EOPNOTSUPP && refused != ENOSYS) return refused == 0;
  const std::vector<char> zeros(size_t{1} << 16);
  for (size_t done = 0; done < bytes;) {
    const ssize_t written = write_quietly(file, zeros.data(), std::min(zeros.size(), bytes - done));
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

}  // namespace cuvein
