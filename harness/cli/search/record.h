// The output of trials and results: JSON lines, a folder, and progress for those who wait.
#pragma once

#include <unistd.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "dataplane/base/new_file.h"
#include "dataplane/search/trials.h"
#include "harness/cli/search/options.h"

namespace pathproof::cli {

class SearchRecord {
  public:
    // Errors: the folder or its files cannot be made.
    static Result<SearchRecord> open(const SearchOptions& options);
    SearchRecord(SearchRecord&&) noexcept = default;
    ~SearchRecord();

    // One more trial with frames of this size; on stderr as a line that the next one replaces, or,
    // where that is no terminal, as a line of its own.
    void trial(std::uint16_t size, const search::TrialOutput& output);
    // A sentence on stderr.
    void say(const std::string& sentence);
    // The end: the result as JSON where it was asked for, else the table, on stdout. Errors: a file
    // that could not be written, now or before.
    Status result(const nlohmann::json& result, const std::string& table);

  private:
    explicit SearchRecord(const SearchOptions& options) : options_(options) {}
    void clear_line();
    void log(const std::string& line);

    const SearchOptions& options_;
    const bool terminal_ = isatty(STDERR_FILENO) == 1;
    bool line_open_ = false;
    std::uint64_t trials_ = 0;
    std::optional<NewFile> log_;  // none: no folder
    Status logged_;               // why not all trials are in the file
};

}  // namespace pathproof::cli
