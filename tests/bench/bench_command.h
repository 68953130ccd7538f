// `pathproof bench` as a program, and what stands in its result.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/process/program.h"

namespace pathproof::bench {

// Journals of the test lie apart from those of the machine: it neither waits for a run nor is one.
class Folder {
  public:
    Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

std::string binary();

// `pathproof bench WORDS`.
process::ProgramOutput run_bench(std::vector<std::string> words);

const nlohmann::json& by_id(const nlohmann::json& list, const std::string& id);
double median(const nlohmann::json& experiment, const std::string& lane, const std::string& figure);

}  // namespace pathproof::bench
