#include "harness/run/ocp_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dataplane/base/new_file.h"

namespace pathproof::run {

OcpFile::OcpFile(std::string path, Fd file)
    : path_(std::move(path)),
      file_(std::move(file)),
      stream_([this](std::string_view line) { return write(line); }) {}

Result<std::shared_ptr<OcpFile>> OcpFile::open(const std::string& path) {
    Fd file;
    if (path != "-") {
        constexpr mode_t kMode = 0666;
        file = Fd(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kMode));
        struct stat what {};
        if (!file || fstat(file.get(), &what) < 0) {
            return fail(
                errno == ELOOP || errno == ENXIO ? ErrorCode::kBadInput : file_error_code(errno),
                "cannot write {}: {}; name another file with --ocp", path,
                errno == ELOOP ? "it is a symbolic link" : std::strerror(errno));
        }
        if (!S_ISREG(what.st_mode)) {
            return fail(ErrorCode::kBadInput,
                        "{} is not a regular file; name another with --ocp (-: standard output)",
                        path);
        }
    }
    return std::shared_ptr<OcpFile>(new OcpFile(path, std::move(file)));
}

void OcpFile::begin(const verdict::RunResult& head) {
    if (file_) {
        // A file that cannot be emptied cannot be written either, which is reported.
        [[maybe_unused]] const int emptied = ftruncate(file_.get(), 0);
    }
    stream_.begin(head);
}

Status OcpFile::write(std::string_view line) const {
    while (!line.empty()) {
        const ssize_t done = ::write(file_ ? file_.get() : STDOUT_FILENO, line.data(), line.size());
        if (done < 0 && errno != EINTR) {
            return fail(ErrorCode::kFailed, "cannot write {}: {}", path_, std::strerror(errno));
        }
        line.remove_prefix(done < 0 ? 0 : static_cast<std::size_t>(done));
    }
    return {};
}

Status OcpFile::end(const verdict::RunResult& run, int exit_code) {
    stream_.end(run, exit_code);
    return stream_.status();
}

}  // namespace pathproof::run
