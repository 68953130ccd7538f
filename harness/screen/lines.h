// Text for a terminal as plain values: lines of pieces, each piece with a style. What draws them is
// somebody else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pathproof::screen {

enum class Style {
    kPlain,
    kStrong,   // headings, the service of a group
    kFaint,    // what may be overlooked
    kGood,     // all is well
    kWarning,  // worth a look
    kBad,      // something is lost
    kBar,      // the title and the key line, across the whole width
};

struct Piece {
    std::string text;  // printable ASCII: one character is one column
    Style style = Style::kPlain;
    bool operator==(const Piece&) const = default;
};

using Line = std::vector<Piece>;
using Lines = std::vector<Line>;

struct Size {
    std::size_t columns = 80;
    std::size_t rows = 24;
    bool operator==(const Size&) const = default;
};

std::size_t width(const Line& line);
// Returns the text of a line, without its styles.
std::string plain(const Line& line);

// Cut to `columns`; a line that was longer ends in '>'. Bytes that are not printable ASCII (names
// come from outside) become '?'.
Line fitted(const Line& line, std::size_t columns);
// fitted(), and filled up with spaces in the style of its last piece.
Line filled(const Line& line, std::size_t columns);
// `left` and, at the right edge, `right`; `left` is cut where they meet.
Line spread(const Line& left, const Line& right, std::size_t columns);

// A word in a column of this width: cut (ending in '>') or filled.
std::string left_column(const std::string& text, std::size_t columns);
std::string right_column(const std::string& text, std::size_t columns);

// "7", "999.9k", "12.35M": at most seven characters up to 10^12.
std::string compact(std::uint64_t count);
// "0.0", "999.9", "12.3k".
std::string compact_rate(double per_second);
std::string percent(double share);  // of a share from 0 to 1: "12.3 %"
// "250 us", "1.5 ms", "2.0 s".
std::string duration_text(std::int64_t nanoseconds);
std::string clock_text(std::int64_t time_ns);  // since the epoch: "14:03:59", UTC
std::string uptime_text(double seconds);       // "01:02:03", "3d 01:02:03"
// "[####......]" over `columns` columns; `share` from 0 to 1.
std::string bar(double share, std::size_t columns);

}  // namespace pathproof::screen
