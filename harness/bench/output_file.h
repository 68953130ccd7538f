// A file in memory that a measured program writes or reads. It is gone with its last user however
// that one ends.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::bench {

class OutputFile {
  public:
    // An anonymous file in memory (memfd_create): writing it costs the same for every program and
    // waits for no disk.
    static Result<OutputFile> make();

    int fd() const { return file_.get(); }
    // Returns the path by which other programs can open it as long as this object lives.
    std::string path() const;
    // Adds to its end.
    Status write(std::string_view text) const;
    // Gives each line without its end; a last one that has none too. Memory stays small whatever
    // the file's size.
    Status each_line(const std::function<void(std::string_view)>& visit) const;
    // The first `most` bytes.
    std::string text(std::size_t most = 64 * 1024) const;

  private:
    explicit OutputFile(Fd file) : file_(std::move(file)) {}

    Fd file_;
};

}  // namespace pathproof::bench
