// A folder of its own for one test, with the few kernel files that the journal reads.
#pragma once

#include <fcntl.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "harness/lab/undo.h"

namespace pathproof::lab {

class TempFolder {
  public:
    TempFolder() {
        std::string name = "/tmp/pathproof-lab-test-XXXXXX";
        path_ = mkdtemp(name.data());
        write("proc/sys/kernel/random/boot_id", "this-boot\n");
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::string& path() const { return path_; }
    KernelFiles files() const { return {.proc = path_ + "/proc", .sys = path_ + "/sys"}; }

    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path file = path_ + "/" + name;
        std::filesystem::create_directories(file.parent_path());
        if (!write_file(file, text, O_CREAT | O_TRUNC)) {
            abort();
        }
    }
    std::string read(const std::string& name) const {
        return read_file(path_ + "/" + name).value_or("(not there)");
    }
    bool has(const std::string& name) const { return std::filesystem::exists(path_ + "/" + name); }

  private:
    std::string path_;
};

}  // namespace pathproof::lab
