// Files without a name, for a guest's initramfs and console: nothing of them is left, whoever is killed.
#pragma once

#include <string>
#include <string_view>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::guest {

class MemoryFile {
  public:
    static Result<MemoryFile> make(const char* name, std::string_view content);

    // Path at which other processes of this machine find the file, as long as it lives.
    std::string path() const;
    // All of it by now, without control characters.
    std::string text() const;

  private:
    explicit MemoryFile(Fd file) : file_(std::move(file)) {}

    Fd file_;
};

// The end of a console's text, for a sentence; "(nothing)".
std::string last_lines(std::string text);

}  // namespace pathproof::guest
