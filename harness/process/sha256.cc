#include "harness/process/sha256.h"

#include <fcntl.h>
#include <sha2.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"

namespace pathproof::process {
namespace {

std::string digits_of(SHA2_CTX& context) {
    std::array<char, SHA256_DIGEST_STRING_LENGTH> text{};
    return SHA256End(&context, text.data());
}

}  // namespace

std::string sha256_of(std::string_view bytes) {
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return digits_of(context);
}

Result<std::string> sha256_of_file(const std::string& path) {
    const auto cannot = [&] {
        return fail(errno == ENOENT ? ErrorCode::kNotFound : file_error_code(errno),
                    "cannot read {}: {}", path, std::strerror(errno));
    };
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        return cannot();
    }
    SHA2_CTX context;
    SHA256Init(&context);
    std::array<std::uint8_t, 65536> chunk;
    for (;;) {
        const ssize_t got = read(file.get(), chunk.data(), chunk.size());
        if (got < 0) {
            return cannot();
        }
        if (got == 0) {
            return digits_of(context);
        }
        SHA256Update(&context, chunk.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace pathproof::process
