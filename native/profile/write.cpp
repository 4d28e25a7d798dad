#include "profile/write.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace cuvein {

ssize_t write_quietly(int file, const void* data, size_t bytes) {
  sigset_t both, before, waiting;
  sigemptyset(&both);
  sigaddset(&both, SIGXFSZ);
  sigaddset(&both, SIGPIPE);
  sigpending(&waiting);
  pthread_sigmask(SIG_BLOCK, &both, &before);
  const ssize_t written = ::write(file, data, bytes);
  const int reason = errno;
  if (written < 0 && (reason == EFBIG || reason == EPIPE)) {
    // Takes the signal that was just sent to this thread, unless the program had one waiting already.
    const int sent = reason == EFBIG ? SIGXFSZ : SIGPIPE;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sent);
    const timespec at_once{};
    if (!sigismember(&waiting, sent)) sigtimedwait(&one, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return written;
}

}  // namespace cuvein
