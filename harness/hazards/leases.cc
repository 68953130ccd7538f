// Leases of the CNI plug-in host-local: a folder for each network, in it a file for each address, which begins
// with the id of the container that has it.
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "dataplane/base/file.h"
#include "harness/agent/socket.h"
#include "harness/hazards/facts.h"
#include "harness/process/netns.h"

namespace pathproof::hazards {
namespace {

namespace fs = std::filesystem;

// Adds the addresses of the calling thread's namespace.
void add_addresses(std::set<frame::IpAddress>& addresses) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) {
        return;
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, freeifaddrs);
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr) {
            continue;
        }
        const int family = each->ifa_addr->sa_family;
        if (family == AF_INET || family == AF_INET6) {
            sockaddr_storage storage{};
            std::memcpy(&storage, each->ifa_addr,
                        family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
            addresses.insert(agent::to_endpoint(storage).address);
        }
    }
}

// Reads the addresses of every network namespace that has a name or a process.
std::set<frame::IpAddress> addresses_of_all() {
    std::set<frame::IpAddress> addresses;
    std::set<ino_t> seen;
    const auto look_into = [&](const std::string& path) {
        struct stat file {};
        if (stat(path.c_str(), &file) == 0 && seen.insert(file.st_ino).second) {
            // A namespace that is gone by now has no addresses.
            static_cast<void>(process::in_netns(path, [&]() -> Status {
                add_addresses(addresses);
                return {};
            }));
        }
    };
    std::error_code none;
    for (const char* names : {"/run/netns", "/run/docker/netns"}) {
        for (const auto& entry : fs::directory_iterator(names, none)) {
            look_into(entry.path());
        }
    }
    for (const auto& entry : fs::directory_iterator("/proc", none)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos) {
            look_into(entry.path().string() + "/ns/net");
        }
    }
    return addresses;
}

}  // namespace

Result<std::vector<Lease>> read_leases(const std::string& folder) {
    std::vector<Lease> leases;
    std::error_code problem;
    if (!fs::exists(folder, problem)) {
        return leases;
    }
    for (const auto& network : fs::directory_iterator(folder, problem)) {
        std::error_code none;
        for (const auto& file : fs::directory_iterator(network.path(), none)) {
            const auto address = frame::parse_ip(file.path().filename().string());
            const auto text = address ? read_file(file.path()) : Result<std::string>("");
            if (address && text) {
                leases.push_back({.file = file.path(),
                                  .network = network.path().filename(),
                                  .address = *address,
                                  .container = text->substr(0, text->find_first_of("\r\n"))});
            }
        }
    }
    if (problem) {
        return fail(ErrorCode::kBadInput, "the leases in {} cannot be read: {}", folder,
                    problem.message());
    }
    if (!leases.empty()) {
        const auto addresses = addresses_of_all();
        for (Lease& lease : leases) {
            lease.in_use = addresses.contains(lease.address);
        }
    }
    return leases;
}

}  // namespace pathproof::hazards
