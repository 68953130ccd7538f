#include "dataplane/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace pathproof {

void Fd::reset(int descriptor) {
    const int old = std::exchange(descriptor_, descriptor);
    if (old >= 0) {
        const int reason = errno;
        close(old);
        errno = reason;
    }
}

Result<std::string> read_file(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 65'536> chunk;
    ssize_t got = file ? 1 : -1;
    while (got > 0) {
        got = read(file.get(), chunk.data(), chunk.size());
        text.append(chunk.data(), static_cast<std::size_t>(got > 0 ? got : 0));
    }
    if (got < 0) {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kFailed, "read {}: {}",
                    path, std::strerror(errno));
    }
    return text;
}

std::string first_word(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

}  // namespace pathproof
