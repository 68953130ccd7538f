#include "harness/guest/modules.h"

#include <algorithm>
#include <ranges>
#include <sstream>

#include "dataplane/base/file.h"
#include "harness/process/foreign.h"
#include "harness/process/program.h"

namespace pathproof::guest {
namespace {

constexpr std::string_view kElf = "\177ELF";

std::string with_underscores(std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
}

}  // namespace

std::string module_name(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    const std::string_view file = slash == path.npos ? path : path.substr(slash + 1);
    return with_underscores(std::string(file.substr(0, file.find(".ko"))));
}

ModuleIndex ModuleIndex::parse(std::string_view dep, std::string_view builtin) {
    ModuleIndex index;
    for (const std::string& line : process::lines_of(dep)) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) {
            continue;
        }
        // All that it needs, what others of the line need behind them.
        std::istringstream words(line.substr(colon + 1));
        std::vector<std::string> files{line.substr(0, colon)};
        for (std::string word; words >> word;) {
            files.push_back(word);
        }
        std::ranges::reverse(files);
        index.files_[module_name(files.back())] = std::move(files);
    }
    for (const std::string& line : process::lines_of(builtin)) {
        index.built_in_.insert(module_name(line));
    }
    return index;
}

Result<ModuleIndex> ModuleIndex::read(const std::string& folder) {
    const std::string dep =
        TRY(doing(read_file(folder + "/modules.dep"), "the kernel's modules in {}", folder));
    return parse(dep, read_file(folder + "/modules.builtin").value_or(""));
}

bool ModuleIndex::is_built_in(const std::string& name) const {
    return built_in_.contains(with_underscores(name));
}

Result<std::vector<std::string>> ModuleIndex::files_of(const std::string& name) const {
    const auto found = files_.find(with_underscores(name));
    if (found != files_.end()) {
        return found->second;
    }
    if (is_built_in(name)) {
        return std::vector<std::string>();
    }
    return fail(ErrorCode::kNotFound, "this kernel has no module {}", name);
}

Result<std::string> read_module(const std::string& path) {
    for (const auto& [ending, program] :
         {std::pair{".ko.xz", "xz"}, {".ko.zst", "zstd"}, {".ko.gz", "gzip"}}) {
        if (path.ends_with(ending)) {
            return process::run_checked({program, "-dc", path});
        }
    }
    auto bytes = TRY(read_file(path));
    if (!bytes.starts_with(kElf)) {
        return fail(ErrorCode::kBadInput, "{} is no kernel module (ELF)", path);
    }
    return bytes;
}

}  // namespace pathproof::guest
