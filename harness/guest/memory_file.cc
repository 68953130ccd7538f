#include "harness/guest/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/process/streams.h"

namespace pathproof::guest {
namespace {

constexpr std::size_t kLastBytes = 1200;

}  // namespace

Result<MemoryFile> MemoryFile::make(const char* name, std::string_view content) {
    Fd file(memfd_create(name, MFD_CLOEXEC));
    if (!file || !process::write_whole(file.get(), content)) {
        return fail(ErrorCode::kFailed, "memory for the guest's {}: {}", name,
                    std::strerror(errno));
    }
    return MemoryFile(std::move(file));
}

std::string MemoryFile::path() const {
    return fmt::format("/proc/{}/fd/{}", getpid(), file_.get());
}

std::string MemoryFile::text() const {
    std::string text = read_file(path()).value_or("");
    std::erase_if(text, [](char each) {
        return (static_cast<unsigned char>(each) < 0x20 && each != '\n') || each == '\x7f';
    });
    return text;
}

std::string last_lines(std::string text) {
    if (text.size() > kLastBytes) {
        text.erase(0, text.find('\n', text.size() - kLastBytes) + 1);
    }
    text.erase(text.find_last_not_of('\n') + 1);
    return text.empty() ? "(nothing)" : text;
}

}  // namespace pathproof::guest
