#include "harness/bench/output_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace pathproof::bench {
namespace {

constexpr std::size_t kChunk = 256 * 1024;

}  // namespace

Result<OutputFile> OutputFile::make() {
    Fd file(memfd_create("pathproof-bench", MFD_CLOEXEC));
    if (!file) {
        return fail(ErrorCode::kFailed, "make a file in memory: {}", std::strerror(errno));
    }
    return OutputFile(std::move(file));
}

Status OutputFile::each_line(const std::function<void(std::string_view)>& visit) const {
    std::string buffer(kChunk, '\0');
    std::string begun;  // of a line that goes on in the next chunk
    off_t offset = 0;
    while (true) {
        const ssize_t got = pread(file_.get(), buffer.data(), buffer.size(), offset);
        if (got < 0) {
            return fail(ErrorCode::kFailed, "read back what was measured: {}",
                        std::strerror(errno));
        }
        if (got == 0) {
            break;
        }
        offset += got;
        std::string_view rest(buffer.data(), static_cast<std::size_t>(got));
        for (std::size_t end = rest.find('\n'); end != std::string_view::npos;
             end = rest.find('\n')) {
            if (begun.empty()) {
                visit(rest.substr(0, end));
            } else {
                begun += rest.substr(0, end);
                visit(begun);
                begun.clear();
            }
            rest.remove_prefix(end + 1);
        }
        begun += rest;
    }
    if (!begun.empty()) {
        visit(begun);
    }
    return {};
}

std::string OutputFile::text(std::size_t most) const {
    std::string buffer(most, '\0');
    const ssize_t got = pread(file_.get(), buffer.data(), buffer.size(), 0);
    buffer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return buffer;
}

std::string OutputFile::path() const {
    return fmt::format("/proc/{}/fd/{}", getpid(), file_.get());
}

Status OutputFile::write(std::string_view text) const {
    while (!text.empty()) {
        const ssize_t put = ::write(file_.get(), text.data(), text.size());
        if (put <= 0) {
            return fail(ErrorCode::kFailed, "write a file in memory: {}", std::strerror(errno));
        }
        text.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
}

}  // namespace pathproof::bench
