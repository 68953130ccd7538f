#include "tests/scenario/shares.h"

#include <algorithm>

namespace {

constexpr const char* kDigits = "0123456789";

}  // namespace

double number_before(const std::string& text, std::size_t at) {
    const std::size_t before = at == 0 ? std::string::npos : text.find_last_not_of(kDigits, at - 1);
    const std::size_t from = before == std::string::npos ? 0 : before + 1;
    return from >= at ? -1 : std::stod(text.substr(from, at - from));
}

std::vector<Share> shares_in(const std::string& text) {
    std::vector<Share> shares;
    for (std::size_t at = text.find(" of "); at != std::string::npos;
         at = text.find(" of ", at + 1)) {
        const std::size_t end = std::min(text.find_first_not_of(kDigits, at + 4), text.size());
        const Share share{.words = text.substr(at, end - at),
                          .part = number_before(text, at),
                          .whole = number_before(text, end)};
        if (end > at + 4 && share.part >= 0) {
            shares.push_back(share);
        }
    }
    return shares;
}
