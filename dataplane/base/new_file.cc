#include "dataplane/base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace pathproof {
namespace {

Failure not_written(const std::string& path, int error) {
    return fail(file_error_code(error), "cannot write {}: {}", path, std::strerror(error));
}

// Names a file that is not a regular one.
const char* irregular_file(mode_t mode) {
    if (S_ISLNK(mode)) {
        return "a symbolic link";
    }
    if (S_ISDIR(mode)) {
        return "a folder";
    }
    return S_ISFIFO(mode) ? "a FIFO" : "a device";
}

}  // namespace

ErrorCode file_error_code(int error) {
    switch (error) {
        case EACCES:
        case EPERM:
        case EROFS: return ErrorCode::kNotPermitted;
        case EEXIST:
        case EINVAL:
        case EISDIR:
        case ELOOP:
        case ENAMETOOLONG:
        case ENODEV:
        case ENOENT:
        case ENOTDIR:
        case ENOTSUP: return ErrorCode::kBadInput;
        default: return ErrorCode::kFailed;
    }
}

NewFile::NewFile(std::string path, std::string unfinished, Fd file)
    : path_(std::move(path)), unfinished_(std::move(unfinished)), file_(std::move(file)) {}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      unfinished_(std::exchange(other.unfinished_, {})),
      file_(std::move(other.file_)) {}

NewFile::~NewFile() {
    if (!unfinished_.empty()) {
        unlink(unfinished_.c_str());
    }
}

Result<NewFile> NewFile::beside(const std::string& path) {
    struct stat there {};
    if (lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
        return fail(ErrorCode::kBadInput,
                    "{} is {}, and only a regular file is replaced: name one, or none that is "
                    "there yet",
                    path, irregular_file(there.st_mode));
    }
    // The unfinished file lies in the same folder, so that it can be renamed. The node exporter
    // reads files that end in .prom only.
    std::string unfinished = fmt::format("{}.{}.new", path, getpid());
    unlink(unfinished.c_str());  // of an earlier process of this number
    Fd file(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file) {
        return not_written(path, errno);
    }
    return NewFile(path, std::move(unfinished), std::move(file));
}

Status NewFile::write(std::string_view text) const {
    while (!text.empty()) {
        const ssize_t put = ::write(file_.get(), text.data(), text.size());
        if (put >= 0) {
            text.remove_prefix(static_cast<std::size_t>(put));
        } else if (errno != EINTR) {
            return not_written(path_, errno);
        }
    }
    return {};
}

Status NewFile::put_in_place() {
    return put_in_place_of(path_);
}

Status NewFile::put_in_place_of(const std::string& path) {
    if (fsync(file_.get()) != 0 || std::rename(unfinished_.c_str(), path.c_str()) != 0) {
        return not_written(path, errno);
    }
    unfinished_.clear();
    return {};
}

Status replace_file(const std::string& path, std::string_view text, Readers readers) {
    auto file = TRY(NewFile::beside(path));
    if (readers == Readers::kEverybody && fchmod(file.fd(), 0644) != 0) {
        return not_written(path, errno);
    }
    const Status written = file.write(text);
    return written ? file.put_in_place() : written;
}

Status make_folders(const std::string& path, ErrorCode code) {
    std::error_code wrong;
    std::filesystem::create_directories(path, wrong);
    return wrong ? fail(code, "{}", wrong.message()) : Status();
}

}  // namespace pathproof
