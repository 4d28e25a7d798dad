// How the C ABI reports trouble: a status, a sentence for the thread, and never an exception.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "capi/cuvein.h"

namespace cuvein::capi {

// Keeps the sentence for cuvein_error() and hands the status on.
int report(int status, const std::string& sentence) noexcept;

// Runs `body`, which returns a status; what it throws becomes one.
template <typename Body>
int guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::invalid_argument& problem) {
    return report(CUVEIN_INVALID, problem.what());
  } catch (const std::bad_alloc&) {
    return report(CUVEIN_IO, "there is not enough memory");
  } catch (const std::exception& problem) {
    return report(CUVEIN_INVALID, problem.what());
  } catch (...) {
    return report(CUVEIN_INVALID, "an unknown error happened");
  }
}

}  // namespace cuvein::capi
