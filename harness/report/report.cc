#include "harness/report/report.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "harness/process/json_text.h"
#include "harness/process/sha256.h"
#include "harness/report/approval.h"
#include "harness/report/files.h"
#include "harness/report/html.h"
#include "harness/report/json.h"
#include "harness/report/junit.h"

namespace pathproof::report {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = "unfinished-";
constexpr std::array kFiles = kReportFiles;

fs::file_type type_of(const fs::path& path) {
    std::error_code none;
    return fs::symlink_status(path, none).type();
}

const char* kind_name(fs::file_type type) {
    switch (type) {
        case fs::file_type::symlink: return "a symbolic link";
        case fs::file_type::directory: return "a folder";
        default: return "a file";
    }
}

// Accepts a path that is missing or of the wanted kind, as this program makes it; refuses links,
// which may lead elsewhere.
Status check_kind(const fs::path& path, fs::file_type wanted) {
    const fs::file_type type = type_of(path);
    if (type == fs::file_type::not_found || type == wanted) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "{} is {}, not {}; name another folder for the report with --out", path.string(),
                kind_name(type), kind_name(wanted));
}

Status make_folder(const fs::path& path) {
    TRY(check_kind(path, fs::file_type::directory));
    std::error_code wrong;
    fs::create_directories(path, wrong);
    if (wrong) {
        return fail(file_error_code(wrong.value()),
                    "cannot create the folder {} for the report: {}; name another with --out",
                    path.string(), wrong.message());
    }
    return {};
}

void remove_tree(const fs::path& path) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

// Removes the unfinished folders of runs that were killed.
void remove_orphans(const fs::path& out_dir) {
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(out_dir, none)) {
        const std::string name = entry.path().filename();
        const std::string number = name.substr(std::min(kUnfinished.size(), name.size()));
        if (name.starts_with(kUnfinished) && !number.empty() &&
            number.find_first_not_of("0123456789") == std::string::npos &&
            !fs::exists("/proc/" + number, none)) {
            remove_tree(entry.path());
        }
    }
}

// Strips what the run lists of what is not there. A file without content says nothing: it goes.
std::vector<std::string> strip_lost(verdict::RunResult& run, const fs::path& folder) {
    std::vector<std::string> lost;
    const auto strip = [&](std::vector<verdict::EvidenceFile>& files) {
        std::erase_if(files, [&](const verdict::EvidenceFile& file) {
            std::error_code none;
            const fs::path path = folder / file.path;
            const bool there = fs::is_regular_file(path, none);
            if (there && fs::file_size(path, none) > 0) {
                return false;
            }
            if (there) {
                fs::remove(path, none);
            }
            lost.push_back(file.path);
            return true;
        });
    };
    for (verdict::ScenarioResult& scenario : run.scenarios) {
        strip(scenario.evidence);
        std::ranges::for_each(all_cells(scenario), strip, &verdict::Cell::evidence);
    }
    return lost;
}

// Ties the evidence to the report.
Status hash_evidence(verdict::RunResult& run, const fs::path& folder) {
    Status done;
    const auto hash = [&](std::vector<verdict::EvidenceFile>& files) {
        for (verdict::EvidenceFile& file : files) {
            auto sha256 = process::sha256_of_file(folder / file.path);
            done = done && !sha256 ? Status(pass_on(sha256.error())) : done;
            file.sha256 = sha256.value_or("");
        }
    };
    for (verdict::ScenarioResult& scenario : run.scenarios) {
        hash(scenario.evidence);
        std::ranges::for_each(all_cells(scenario), hash, &verdict::Cell::evidence);
    }
    return done;
}

// Returns whether the folder has a report of a run that came to its end.
bool has_complete_report(const fs::path& folder) {
    const auto text = read_file(folder / kFiles.front());
    const auto read = process::json_or_null(text.value_or(""));
    return read.is_object() && read.contains("verdict") &&
           read["verdict"] != name(verdict::RunVerdict::kIncomplete);
}

// The document as it lies on the disk is valid and says what was to be said.
Status check_written(const std::string& path, const std::string& wanted) {
    const auto text = TRY(read_file(path));
    const auto read = from_json(text);
    if (!read) {
        return fail(ErrorCode::kFailed, "{} was written, but is not valid: {}", path,
                    read.error().message);
    }
    if (text != wanted || json_text(*read) != wanted) {
        return fail(ErrorCode::kFailed, "{} does not read back as what was written", path);
    }
    return {};
}

// The texts of kFiles.
Status write_and_check(const std::string& folder,
                       const std::array<std::string, kFiles.size()>& texts) {
    for (std::size_t n = 0; n < kFiles.size(); ++n) {
        TRY(replace_file(folder + "/" + kFiles[n], texts[n]));
    }
    return check_written(folder + "/" + kFiles.front(), texts.front());
}

// All of `folder` in the place of what `target` has of it; the earlier evidence goes with `folder`.
Status put_in_place(const fs::path& folder, const fs::path& target) {
    TRY(make_folder(target));
    std::error_code wrong;
    if (fs::exists(target / "evidence", wrong)) {
        fs::rename(target / "evidence", folder / "earlier", wrong);
    }
    std::vector<std::string> names(kFiles.begin(), kFiles.end());
    names.emplace_back("evidence");
    for (const std::string& name : names) {
        if (!wrong) {
            fs::rename(folder / name, target / name, wrong);
        }
    }
    if (!wrong) {
        // The approval of the earlier report is none of this one.
        for (const char* approval : {kApprovalFile, kSignatureFile}) {
            fs::remove(target / approval, wrong);
        }
        return {};
    }
    if (std::error_code none; !fs::exists(target / "evidence", none)) {
        fs::rename(folder / "earlier", target / "evidence", none);
    }
    return fail(file_error_code(wrong.value()), "cannot put the report in place in {}: {}",
                target.string(), wrong.message());
}

}  // namespace

std::string unfinished_folder(const std::string& out_dir) {
    return fmt::format("{}/{}{}", out_dir, kUnfinished, getpid());
}

Status prepare_output(const std::string& out_dir) {
    // A path that ends in a slash names what a link leads to.
    const fs::path folder = out_dir.substr(0, out_dir.find_last_not_of('/') + 1);
    if (!folder.empty()) {
        TRY(make_folder(folder));
    }
    Status fit = check_kind(folder / "evidence", fs::file_type::directory);
    for (const char* file : kFiles) {
        fit = fit ? check_kind(out_dir / fs::path(file), fs::file_type::regular) : fit;
    }
    if (!fit) {
        return fit;
    }
    std::error_code none;
    if (type_of(out_dir + "/evidence") == fs::file_type::directory &&
        !fs::is_empty(out_dir + "/evidence", none) &&
        type_of(out_dir + "/report.json") == fs::file_type::not_found) {
        return fail(ErrorCode::kBadInput,
                    "{}/evidence is of no report: it would be replaced; name another folder with "
                    "--out",
                    out_dir);
    }
    remove_orphans(out_dir);
    discard_output(out_dir);
    return doing(make_folder(unfinished_folder(out_dir) + "/evidence"),
                 "the report needs a writable folder; name another with --out");
}

void discard_output(const std::string& out_dir) {
    remove_tree(unfinished_folder(out_dir));
}

Result<Written> write_report(const verdict::RunResult& run, const std::string& out_dir,
                             int exit_code) {
    const std::string folder = unfinished_folder(out_dir);
    verdict::RunResult kept = run;
    Written written{.folder = out_dir, .lost = strip_lost(kept, folder)};
    if (run.verdict == verdict::RunVerdict::kIncomplete && has_complete_report(out_dir)) {
        written.folder += "/incomplete";
    }
    Status done = hash_evidence(kept, folder);
    done = done ? check_consistency(kept) : done;
    done = done ? write_and_check(folder,
                                  {json_text(kept), html_page(kept), junit_xml(kept, exit_code)})
                : done;
    done = done ? put_in_place(folder, written.folder) : done;
    discard_output(out_dir);
    if (!done) {
        return pass_on(done.error());
    }
    if (written.folder == out_dir && fs::exists(out_dir + "/incomplete/report.json")) {
        remove_tree(out_dir + "/incomplete");  // of an earlier run
    }
    return written;
}

}  // namespace pathproof::report
