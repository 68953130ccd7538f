// Writes files whole, or not at all.
#pragma once

#include <string>
#include <string_view>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof {

// A file that is written beside `path` and takes its place when it is complete. Until then, and
// for good where that never comes, what is at `path` stays as it is.
class NewFile {
  public:
    // `path` is a regular file or nothing, in a folder that is there: a symbolic link, a device, a
    // FIFO and a folder are refused (kBadInput).
    static Result<NewFile> beside(const std::string& path);
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();

    int fd() const { return file_.get(); }
    // Adds to its end.
    Status write(std::string_view text) const;
    // Has it on the disk, then gives it its name, or that of another file of the same disk.
    // kFailed: there is no room, say.
    Status put_in_place();
    Status put_in_place_of(const std::string& path);

  private:
    NewFile(std::string path, std::string unfinished, Fd file);

    std::string path_;
    std::string unfinished_;  // empty: it is in place
    Fd file_;
};

enum class Readers { kAsUsual, kEverybody };  // by the umask; all, whatever it is

// The whole of a file.
Status replace_file(const std::string& path, std::string_view text,
                    Readers readers = Readers::kAsUsual);

// Makes a folder and those above it that are not there. The error, of this code, says why not and
// leaves it to the caller to name the folder.
Status make_folders(const std::string& path, ErrorCode code);

// Returns the code of an error with a file or folder that somebody named: kBadInput or
// kNotPermitted where another name would help, kFailed where not.
ErrorCode file_error_code(int error);

}  // namespace pathproof
