#include "harness/metrics/cni_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/new_file.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::metrics {
namespace {

using nlohmann::json;
using process::part;

// A node has 110 pods, or some hundreds; a file has one or two thousand bytes.
constexpr std::size_t kMostFiles = 4096;
constexpr std::size_t kMostBytes = std::size_t{1} << 18;
constexpr std::size_t kMostAddresses = 16;
// RFC 1123, as Kubernetes has it: of namespaces a label, of pods a subdomain.
constexpr std::size_t kLongestNamespace = 63;
constexpr std::size_t kLongestName = 253;

// The value of the last argument of that name, as for who reads CNI_ARGS.
std::string argument(const json& arguments, std::string_view name) {
    std::string value;
    for (const json& pair : arguments.is_array() ? arguments : json::array()) {
        if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string() &&
            pair[0].get_ref<const std::string&>() == name) {
            value = pair[1].get<std::string>();
        }
    }
    return value;
}

bool is_name(std::string_view name, std::size_t longest) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    return name.size() <= longest && name.find_first_not_of(kLetters) == std::string_view::npos;
}

Status take_address(CachedPod& cached, const json& text, const char* key) {
    const std::string whole = text.is_string() ? text.get<std::string>() : std::string();
    const auto address =
        TRY(doing(frame::parse_ip(whole.substr(0, whole.find('/'))), "\"{}\"", key));
    if (cached.addresses.size() == kMostAddresses) {
        return fail(ErrorCode::kBadInput, "\"ips\" has more than {} addresses", kMostAddresses);
    }
    cached.addresses.push_back(address);
    return {};
}

ErrorCode code_of(int problem) {
    return problem == ENOENT ? ErrorCode::kNotFound : file_error_code(problem);
}

struct CachedFile {
    timespec changed{};
    CachedPod cached;
};

// A file that the plug-in host-local keeps where its dataDir is: an address, its lock, the last address
// that it gave out. No file of libcni's has such a name.
bool is_of_host_local(const std::string& name) {
    return name == "lock" || name.starts_with("last_reserved_ip.") || frame::parse_ip(name);
}

// A file is taken as it is, and never waited for: what is no regular one is none of libcni's.
Result<CachedFile> read_cached_file(int folder, const std::string& name) {
    const Fd file(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat about {};
    if (!file || fstat(file.get(), &about) != 0) {
        return fail(code_of(errno), "{}", std::strerror(errno));
    }
    if (!S_ISREG(about.st_mode)) {
        return fail(ErrorCode::kBadInput, "not a regular file");
    }
    std::string text;
    char piece[4096];
    for (ssize_t got; (got = read(file.get(), piece, sizeof piece)) != 0;) {
        if (got < 0) {
            return fail(ErrorCode::kFailed, "{}", std::strerror(errno));
        }
        text.append(piece, static_cast<std::size_t>(got));
        if (text.size() > kMostBytes) {
            return fail(ErrorCode::kBadInput, "larger than {} bytes", kMostBytes);
        }
    }
    auto cached = TRY(parse_cni_cache(text));
    return CachedFile{.changed = about.st_mtim, .cached = std::move(cached)};
}

}  // namespace

Result<CachedPod> parse_cni_cache(std::string_view text) {
    const json whole = process::parse_foreign(text);
    if (!whole.is_object()) {
        return fail(ErrorCode::kBadInput, "not an object of JSON");
    }
    if (part(whole, "kind") != "cniCacheV1") {
        return fail(ErrorCode::kBadInput, "\"kind\" is not \"cniCacheV1\"");
    }
    const json& arguments = part(whole, "cniArgs");
    CachedPod cached{.pod = {.pod_namespace = argument(arguments, "K8S_POD_NAMESPACE"),
                             .name = argument(arguments, "K8S_POD_NAME")},
                     .addresses = {},
                     .container = process::text_of(part(whole, "containerId")),
                     .netns = process::text_of(part(whole, "netns"))};
    if (cached.pod.pod_namespace.empty() || cached.pod.name.empty()) {
        cached.pod = {};
        return cached;
    }
    if (!is_name(cached.pod.pod_namespace, kLongestNamespace) ||
        !is_name(cached.pod.name, kLongestName)) {
        return fail(ErrorCode::kBadInput,
                    "\"cniArgs\" has a name of a pod or namespace as Kubernetes gives none");
    }
    const json& result = part(whole, "result");
    const json& ips = part(result, "ips");
    for (const json& ip : ips.is_array() ? ips : json::array()) {
        TRY(take_address(cached, part(ip, "address"), "address"));
    }
    for (const char* const key : {"ip4", "ip6"}) {
        if (const json& old = part(part(result, key), "ip"); !old.is_null()) {
            TRY(take_address(cached, old, key));
        }
    }
    return cached;
}

Result<CniCache> read_cni_cache(const std::string& folder) {
    const Fd opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) {
        return fail(code_of(errno), "the cache of CNI results {}: {}", folder,
                    std::strerror(errno));
    }
    CniCache cache;
    const auto miss = [&](const std::string& name, const std::string& why) {
        ++cache.unreadable;
        cache.trouble = fmt::format("{}/{}: {}", folder, process::without_controls(name), why);
    };
    std::vector<CachedFile> files;
    std::string subfolder, lease;
    std::error_code ended;
    for (std::filesystem::directory_iterator entry(folder, ended), end; !ended && entry != end;
         entry.increment(ended)) {
        const std::string name = entry->path().filename().string();
        if (entry->is_directory(ended) && !entry->is_symlink(ended)) {
            subfolder = std::max(subfolder, name);
            continue;
        }
        if (is_of_host_local(name)) {
            lease = std::max(lease, name);
            continue;
        }
        if (files.size() == kMostFiles) {
            miss(name, fmt::format("one of more than {} files", kMostFiles));
            break;
        }
        auto file = read_cached_file(opened.get(), name);
        if (file) {
            files.push_back(std::move(*file));
        } else if (file.error().code != ErrorCode::kNotFound) {
            miss(name, file.error().message);
        }
    }
    // host-local's folder of leases, or the one above the results.
    if (files.empty() && !(subfolder.empty() && lease.empty())) {
        return fail(ErrorCode::kBadInput,
                    "the cache of CNI results {}: it has a {}, '{}', and no result: name the "
                    "folder with the results themselves, such as /var/lib/cni/results",
                    folder, lease.empty() ? "folder" : "lease of host-local",
                    process::without_controls(lease.empty() ? subfolder : lease));
    }
    std::ranges::stable_sort(files, {}, [](const CachedFile& file) {
        return std::pair(file.changed.tv_sec, file.changed.tv_nsec);
    });
    for (CachedFile& file : files) {
        for (const frame::IpAddress& address : file.cached.addresses) {
            cache.addresses[address] = file.cached.pod;
        }
        cache.cached.push_back(std::move(file.cached));
    }
    return cache;
}

}  // namespace pathproof::metrics
