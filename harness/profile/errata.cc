#include "harness/profile/errata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "harness/profile/toml_reader.h"

namespace pathproof::profile {
namespace {

// "E01" of "E01-nat0-outer-udp".
std::string number_of(const std::string& id) {
    return id.substr(0, id.find('-'));
}

}  // namespace

Evidence Erratum::evidence() const {
    const auto best = std::ranges::min_element(sources, {}, &Source::evidence);
    return best == sources.end() ? Evidence::kChangelog : best->evidence;
}

Result<std::vector<Erratum>> load_errata(const std::string& directory) {
    const auto paths = TRY(toml_files(directory + "/errata", "errata"));
    std::vector<Erratum> errata;
    for (const std::string& path : paths) {
        const auto text = TRY(read_text(path, "erratum"));
        auto erratum = TRY(parse_erratum(text, path));
        errata.push_back(std::move(erratum));
    }
    std::ranges::sort(errata, {}, &Erratum::id);
    return errata;
}

Result<Erratum> find_erratum(const std::string& directory, const std::string& id) {
    auto errata = TRY(load_errata(directory));
    std::vector<std::string> close;
    for (Erratum& erratum : errata) {
        if (erratum.id == id || number_of(erratum.id) == id) {
            return std::move(erratum);
        }
        if (erratum.id.find(id) != std::string::npos) {
            close.push_back(erratum.id);
        }
    }
    if (close.size() == 1) {
        return find_erratum(directory, close.front());
    }
    return fail(ErrorCode::kNotFound, "there is no erratum '{}' in {}/errata; {}", id, directory,
                close.empty() ? "see 'pathproof profile errata list'"
                              : fmt::format("close to it: {}", fmt::join(close, ", ")));
}

std::vector<std::string> lint(const std::vector<Erratum>& errata) {
    std::vector<std::string> found;
    std::map<std::string, std::string> numbers;
    for (const Erratum& erratum : errata) {
        if (std::filesystem::path(erratum.file).stem() != erratum.id) {
            found.push_back(
                fmt::format("{}: id '{}' is not the name of the file", erratum.file, erratum.id));
        }
        const auto [other, first] = numbers.emplace(number_of(erratum.id), erratum.file);
        if (!first) {
            found.push_back(fmt::format("{}: number {} stands in {} too", erratum.file,
                                        number_of(erratum.id), other->second));
        }
    }
    return found;
}

}  // namespace pathproof::profile
