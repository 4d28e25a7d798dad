#include "monitor/process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace cuvein {
namespace {

std::string unique_id() {
  std::ifstream file("/proc/sys/kernel/random/uuid");
  std::string id;
  std::getline(file, id);
  if (!id.empty()) return id;
  // Some sandboxes lack that file. The pid alone comes again in each container, and profiles with one id are
  // taken for copies.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(getpid()) + "-" + std::to_string(std::chrono::nanoseconds(now).count());
}

std::string executable() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, length) : std::string();
}

std::vector<std::string> arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> result;
  for (size_t start = 0; start < line.size();) {
    const size_t end = std::min(line.find('\0', start), line.size());
    result.push_back(line.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

bool make_folder(const std::string& path) { return mkdir(path.c_str(), 0777) == 0; }

}  // namespace

nlohmann::json process_json(const std::string& sanitizer, const std::string& driver) {
  // Asked for at every launch.
  static const std::string& id = *new std::string(unique_id());
  static const std::string& path = *new std::string(executable());
  static const std::vector<std::string>& words = *new std::vector<std::string>(arguments());
  nlohmann::json versions = {{"cuvein", CUVEIN_VERSION}, {"sanitizer", nullptr}, {"driver", nullptr}};
  if (!sanitizer.empty()) versions["sanitizer"] = sanitizer;
  if (!driver.empty()) versions["driver"] = driver;
  return {{"id", id}, {"pid", getpid()}, {"executable", path}, {"arguments", words}, {"versions", versions}};
}

std::string make_process_folder(const std::string& output, std::string* error) {
  if (!make_folder(output) && errno != EEXIST) {
    *error = "the output folder " + output + " could not be made: " + std::strerror(errno);
    return "";
  }
  const std::string base = output + "/process-" + std::to_string(getpid());
  std::string path = base;
  for (int attempt = 2; !make_folder(path); ++attempt) {
    if (errno != EEXIST || attempt > 10000) {
      *error = "the folder " + path + " could not be made: " + std::strerror(errno);
      return "";
    }
    path = base + "-" + std::to_string(attempt);
  }
  if (!make_folder(path + "/modules")) {
    *error = "the folder " + path + "/modules could not be made: " + std::strerror(errno);
    return "";
  }
  return path;
}

}  // namespace cuvein
