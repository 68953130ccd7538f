#include "harness/guest/cpio.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace pathproof::guest {

void CpioWriter::write(std::string_view name, const Node& node, std::string_view content) {
    const auto pad = [this] { archive_.append((4 - archive_.size() % 4) % 4, '\0'); };
    ++inode_;
    archive_ += fmt::format(
        "070701{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}"
        "{:08x}{:08x}{:08x}",
        inode_, node.mode, 0, 0, 1, 0, content.size(), 0, 0, node.major, node.minor,
        name.size() + 1, 0);
    archive_ += name;
    archive_ += '\0';
    pad();
    archive_ += content;
    pad();
}

void CpioWriter::add(const std::string& path, const Node& node, std::string_view content) {
    if (const std::size_t slash = path.rfind('/'); slash != 0 && slash != std::string::npos) {
        folder(path.substr(0, slash));
    }
    if (there_.insert(path).second) {
        write(std::string_view(path).substr(1), node, content);
    }
}

void CpioWriter::folder(const std::string& path) {
    if (!path.empty() && path != "/") {
        add(path, {.mode = S_IFDIR | 0755}, "");
    }
}

void CpioWriter::file(const std::string& path, std::string_view content, std::uint32_t mode) {
    add(path, {.mode = S_IFREG | mode}, content);
}

void CpioWriter::link(const std::string& path, const std::string& target) {
    add(path, {.mode = S_IFLNK | 0777}, target);
}

void CpioWriter::character_device(const std::string& path, std::uint32_t major,
                                  std::uint32_t minor) {
    add(path, {.mode = S_IFCHR | 0600, .major = major, .minor = minor}, "");
}

std::string CpioWriter::finish() {
    write("TRAILER!!!", {}, "");
    return std::move(archive_);
}

}  // namespace pathproof::guest
