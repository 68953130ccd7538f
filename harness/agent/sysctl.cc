#include "harness/agent/sysctl.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/agent/interfaces.h"
#include "harness/agent/operations.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {
namespace {

namespace fs = std::filesystem;

Result<std::vector<std::string>> name_parts(const std::string& name) {
    std::vector<std::string> parts;
    boost::split(parts, name, boost::is_any_of("."));
    const bool has_empty = std::ranges::find(parts, "") != parts.end();
    if (has_empty || name.find('/') != std::string::npos || name.find('\0') != std::string::npos ||
        parts.size() < 2 || parts.front() != "net") {
        return fail(
            ErrorCode::kBadInput,
            "'{}' is not the name of a network sysctl; write it with dots, as net.ipv4.ip_forward",
            name);
    }
    return parts;
}

// The existing file whose path is the parts from `next` on, some of them joined by a dot again.
std::optional<fs::path> find_below(const fs::path& folder, const std::vector<std::string>& parts,
                                   std::size_t next) {
    std::error_code problem;
    std::string joined;
    for (std::size_t last = next; last < parts.size(); ++last) {
        joined += (last == next ? "" : ".") + parts[last];
        const fs::path path = folder / joined;
        if (last + 1 == parts.size()) {
            return fs::is_regular_file(path, problem) ? std::optional(path) : std::nullopt;
        }
        if (!fs::is_directory(path, problem)) {
            continue;
        }
        if (auto found = find_below(path, parts, last + 1)) {
            return found;
        }
    }
    return std::nullopt;
}

Result<fs::path> sysctl_path(const std::string& name) {
    const std::vector<std::string> parts = TRY(name_parts(name));
    if (auto path = find_below("/proc/sys", parts, 0)) {
        return *path;
    }
    return fail(ErrorCode::kNotFound,
                "sysctl {} does not exist in this namespace; 'sysctl -a' lists them (a kernel "
                "module may not be "
                "loaded)",
                name);
}

Status write_text(const fs::path& path, const std::string& text, const std::string& what) {
    const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) {
        return system_failure(fmt::format("open {}", what), errno);
    }
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0 && (errno == EINVAL || errno == ERANGE || errno == EOVERFLOW)) {
        return fail(ErrorCode::kBadInput, "{} does not take the value '{}'", what, text);
    }
    if (written != static_cast<ssize_t>(text.size())) {
        return system_failure(fmt::format("write '{}' to {}", text, what), errno);
    }
    return {};
}

Result<std::string> read_named_text(const fs::path& path, const std::string& what) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        return system_failure(fmt::format("open {}", what), errno);
    }
    std::string text;
    std::array<char, 4096> chunk{};
    ssize_t got = 0;
    while ((got = read(file.get(), chunk.data(), chunk.size())) > 0) {
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    if (got < 0) {
        return system_failure(fmt::format("read {}", what), errno);
    }
    text.erase(text.find_last_not_of('\n') + 1);
    return text;
}

Result<fs::path> rps_path(const std::string& device, const std::string& class_net) {
    TRY(require_interface(device));
    const fs::path path = fs::path(class_net) / device / "queues/rx-0/rps_cpus";
    std::error_code problem;
    if (!fs::exists(path, problem)) {
        return fail(ErrorCode::kNotSupported,
                    "device {} has no {}; this kernel has no receive packet steering, or /sys "
                    "shows another "
                    "namespace",
                    device, path.string());
    }
    return path;
}

}  // namespace

Result<std::string> read_sysctl(const std::string& name) {
    const fs::path path = TRY(sysctl_path(name));
    return read_named_text(path, "sysctl " + name);
}

Result<std::string> set_rps(const std::string& device, const std::string& cpu_mask,
                            const std::string& class_net) {
    if (cpu_mask.empty() ||
        cpu_mask.find_first_not_of("0123456789abcdefABCDEF,") != std::string::npos) {
        return fail(ErrorCode::kBadInput,
                    "'{}' is no CPU mask; write it in hexadecimal, as 3 for CPUs 0 and 1",
                    cpu_mask);
    }
    const fs::path path = TRY(rps_path(device, class_net));
    const std::string what = fmt::format("the RPS mask of {}", device);
    auto former = read_named_text(path, what);
    TRY(write_text(path, cpu_mask, what));
    return former;
}

Result<std::string> read_rps(const std::string& device, const std::string& class_net) {
    const Result<fs::path> path = rps_path(device, class_net);
    return path ? read_named_text(*path, fmt::format("the RPS mask of {}", device))
                : pass_on(path.error());
}

Result<std::string> Client::read_sysctl(const std::string& name) {
    return impl_->ask<std::string>("read_sysctl", name);
}

Result<std::string> Client::rps(const std::string& device) {
    return impl_->ask<std::string>("rps", device);
}

void add_sysctls(Operations& operations) {
    operations.add("read_sysctl", agent::read_sysctl);
    operations.add("rps", [](const std::string& device) { return read_rps(device); });
}

}  // namespace pathproof::agent
