// A cpio archive in the "newc" format, as the kernel unpacks an initramfs
// (Documentation/driver-api/early-userspace/buffer-format.rst).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace pathproof::guest {

class CpioWriter {
  public:
    // Paths are absolute, "/lib/modules"; the folders above are made with them. What is there already
    // is not added again.
    void folder(const std::string& path);
    void file(const std::string& path, std::string_view content, std::uint32_t mode = 0644);
    void link(const std::string& path, const std::string& target);
    void character_device(const std::string& path, std::uint32_t major, std::uint32_t minor);

    // The archive with its end. Nothing is added any more.
    std::string finish();

  private:
    struct Node {
        std::uint32_t mode = 0;
        std::uint32_t major = 0;
        std::uint32_t minor = 0;
    };
    void add(const std::string& path, const Node& node, std::string_view content);
    void write(std::string_view name, const Node& node, std::string_view content);

    std::string archive_;
    std::set<std::string> there_;
    std::uint32_t inode_ = 0;
};

}  // namespace pathproof::guest
