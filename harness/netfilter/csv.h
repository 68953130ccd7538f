// Entries and events as comma-separated values (RFC 4180): a header line, then one line each, all
// with CRLF at the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

// The columns of a table, in order. A value that the kernel did not report is an empty field.
class CsvFormat {
  public:
    enum class Rows { kEntries, kEvents };
    // The columns of these names, or all of them when there are none; the order and meaning of the
    // latter stay the same, new columns come at the end. An error names those allowed.
    static Result<CsvFormat> make(Rows rows, const std::vector<std::string>& names = {});

    // A line without its end, like those below.
    void append_header(std::string& out) const;
    void append_row(std::string& out, const Entry& entry) const;
    void append_row(std::string& out, const Event& event) const;
    // A row that is no event: `word` stands in the column "event" and `time_ns` in "time_ns";
    // others are empty.
    void append_mark(std::string& out, std::string_view word, std::int64_t time_ns) const;

    struct Column;

  private:
    void append(std::string& out, const Entry& entry, const Event* event) const;

    std::vector<const Column*> columns_;
};

// All columns with what they hold, one line each, for --help.
std::string csv_help();

}  // namespace pathproof::netfilter
