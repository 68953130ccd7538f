#include "harness/process/typed_command.h"

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cctype>
#include <fstream>

namespace pathproof::process {
namespace {

bool is_plain(const std::string& word) {
    return !word.empty() && std::ranges::all_of(word, [](unsigned char letter) {
        return std::isalnum(letter) != 0 ||
               std::string("-_./:,=%@+[]").find(static_cast<char>(letter)) != std::string::npos;
    });
}

std::string quoted(const std::string& word) {
    return "'" + boost::replace_all_copy(word, "'", "'\\''") + "'";
}

}  // namespace

std::string shell_words(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : " ") + (is_plain(word) ? word : quoted(word));
    }
    return text;
}

std::string typed_command() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) {
        words.push_back(words.empty() ? "pathproof" : word);
    }
    return shell_words(words);
}

}  // namespace pathproof::process
