#include "harness/process/foreign.h"

#include <algorithm>
#include <sstream>

namespace pathproof::process {
namespace {

constexpr std::size_t kMostWords = 2000;

}  // namespace

std::string without_controls(std::string text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const bool second = byte >= 0x80 && byte < 0xa0 && at > 0 && text[at - 1] == '\xc2';
        if (second || byte == 0x7f || (byte < ' ' && byte != '\n' && byte != '\t')) {
            text[at - (second ? 1 : 0)] = '?';
            text[at] = '?';
        }
    }
    return text;
}

std::vector<std::string> lines_of(std::string_view said) {
    std::vector<std::string> lines;
    std::istringstream text{std::string(said)};
    for (std::string line; std::getline(text, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::string last_words(std::string_view said) {
    std::string words(said.substr(said.size() - std::min(said.size(), kMostWords)));
    std::erase(words, '\r');  // of ssh's line ends
    words = without_controls(std::move(words));
    words.erase(words.find_last_not_of(" \n") + 1);
    words.erase(0, words.find_first_not_of(" \n"));
    return words.empty() ? "nothing" : words;
}

}  // namespace pathproof::process
