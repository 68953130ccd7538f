#include "harness/report/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "harness/report/html.h"
#include "harness/report/json.h"
#include "harness/report/junit.h"

namespace pathproof::report {
namespace {

namespace fs = std::filesystem;

ErrorCode code_of(int error) {
    switch (error) {
        case EACCES:
        case EPERM:
        case EROFS:
            return ErrorCode::kNotPermitted;
        case ENOTDIR:
        case EEXIST:
        case ENAMETOOLONG:
        case EINVAL:
            return ErrorCode::kBadInput;
        default:
            return ErrorCode::kFailed;
    }
}

// Writes the whole text and has it on the disk before it returns.
Status write_file(const std::string& path, const std::string& text) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) {
        const int error = errno;
        return fail(code_of(error), "cannot write {}: {}", path, std::strerror(error));
    }
    std::size_t written = 0;
    int error = 0;
    while (written < text.size() && error == 0) {
        const ssize_t put = write(file, text.data() + written, text.size() - written);
        if (put >= 0) {
            written += static_cast<std::size_t>(put);
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    if (error == 0 && fsync(file) != 0) {
        error = errno;
    }
    if (close(file) != 0 && error == 0) {
        error = errno;
    }
    if (error != 0) {
        unlink(path.c_str());
        return fail(code_of(error), "cannot write {}: {}", path, std::strerror(error));
    }
    return {};
}

Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) {
        return fail(ErrorCode::kFailed, "cannot read {} back", path);
    }
    return text.str();
}

Status make_folder(const std::string& path) {
    std::error_code wrong;
    if (fs::exists(path, wrong) && !fs::is_directory(path, wrong)) {
        return fail(ErrorCode::kBadInput,
                    "{} is a file, not a folder; name another folder for the report with --out",
                    path);
    }
    fs::create_directories(path, wrong);
    if (wrong) {
        return fail(code_of(wrong.value()),
                    "cannot create the folder {} for the report: {}; name another with --out", path,
                    wrong.message());
    }
    return {};
}

// Root passes access(2) on a read-only file system's permissions only; a file really made proves
// more.
Status prove_writable(const std::string& folder) {
    const std::string probe = folder + "/.writable." + std::to_string(getpid());
    if (const Status written = write_file(probe, ""); !written) {
        return fail(written.error(), "the report needs a writable folder; name another with --out");
    }
    unlink(probe.c_str());
    return {};
}

// The document as it lies on the disk is valid and says what was to be said.
Status check_written(const std::string& path, const std::string& wanted) {
    const auto text = read_file(path);
    if (!text) {
        return pass_on(text.error());
    }
    const auto read = from_json(*text);
    if (!read) {
        return fail(ErrorCode::kFailed, "{} was written, but is not valid: {}", path,
                    read.error().message);
    }
    if (*text != wanted || json_text(*read) != wanted) {
        return fail(ErrorCode::kFailed, "{} does not read back as what was written", path);
    }
    return {};
}

struct OutputFile {
    std::string name;
    std::string text;
};

Status write_and_check(const std::string& out_dir, const std::vector<OutputFile>& files) {
    for (const OutputFile& file : files) {
        if (const Status written = write_file(out_dir + "/" + file.name + ".new", file.text);
            !written) {
            return written;
        }
    }
    return check_written(out_dir + "/" + files.front().name + ".new", files.front().text);
}

Status put_in_place(const std::string& out_dir, const std::vector<OutputFile>& files) {
    for (const OutputFile& file : files) {
        const std::string path = out_dir + "/" + file.name;
        if (rename((path + ".new").c_str(), path.c_str()) != 0) {
            const int error = errno;
            return fail(code_of(error), "cannot put {} in place: {}", path, std::strerror(error));
        }
    }
    return {};
}

}  // namespace

Status prepare_output(const std::string& out_dir) {
    for (const std::string& folder : {out_dir, out_dir + "/evidence"}) {
        if (const Status made = make_folder(folder); !made) {
            return made;
        }
        if (const Status writable = prove_writable(folder); !writable) {
            return writable;
        }
    }
    return {};
}

Status write_report(const verdict::RunResult& run, const std::string& out_dir) {
    if (const Status sound = check_consistency(run); !sound) {
        return sound;
    }
    const std::vector<OutputFile> files{{"report.json", json_text(run)},
                                        {"report.html", html_page(run)},
                                        {"junit.xml", junit_xml(run)}};
    if (const Status written = write_and_check(out_dir, files); !written) {
        for (const OutputFile& file : files) {
            unlink((out_dir + "/" + file.name + ".new").c_str());
        }
        return written;
    }
    return put_in_place(out_dir, files);
}

}  // namespace pathproof::report
