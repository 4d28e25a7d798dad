// This process as the documents name it, and its folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cuvein {

// A Process document. The versions, of the Sanitizer API library and of CUDA as the driver has it, are empty
// while not known.
nlohmann::json process_json(const std::string& sanitizer, const std::string& driver);

// Makes the folder of this process in `output` and returns its path; empty, with the reason in *error, when
// that fails. A program that replaces itself (exec) keeps its pid, so the name may be taken.
std::string make_process_folder(const std::string& output, std::string* error);

}  // namespace cuvein
