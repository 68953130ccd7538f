// Descriptors, and files that are read whole.
#pragma once

#include <string>
#include <utility>

#include "dataplane/base/result.h"

namespace pathproof {

// Owns a file descriptor. Closing it leaves errno as it is.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int descriptor) : descriptor_(descriptor) {}
    Fd(Fd&& other) noexcept : descriptor_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { reset(); }

    int get() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }
    // It is the caller's from here on.
    int release() { return std::exchange(descriptor_, -1); }
    void reset(int descriptor = -1);

  private:
    int descriptor_ = -1;
};

// The whole of a file of any kind (those of /proc have no size). kNotFound: there is none.
Result<std::string> read_file(const std::string& path);

// The first word of a file, as those of sysfs have one; empty: there is none.
std::string first_word(const std::string& path);

}  // namespace pathproof
