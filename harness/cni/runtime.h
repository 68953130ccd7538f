// Attaching pods to a network and detaching them, as a container runtime does it by the CNI protocol:
// the plug-ins of a list one after another, each a program that runs in its node's namespace.
//
// A plug-in that hangs is killed, with all that it started. What went wrong is an error that has the
// plug-in's own error object and what it wrote to stderr.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "harness/cni/conflist.h"

namespace pathproof::cni {

inline constexpr const char* kDebianPlugins = "/usr/lib/cni";

struct PortMapping {
    std::uint16_t host_port = 0;
    std::uint16_t container_port = 0;
    std::string protocol;  // "tcp", "udp", "sctp"
};

struct Attachment {
    std::string container_id;
    std::string netns;  // named; its path is /run/netns/NAME
    std::string interface = "eth0";
    // Runtime configuration, for the plug-ins that declare the capability.
    std::vector<PortMapping> ports = {};
    std::vector<std::string> ips = {};  // "10.244.1.77/24"
    std::uint64_t bandwidth = 0;        // bits a second, both ways; 0: none
    std::string args = "";              // CNI_ARGS
};

// One call of a plug-in, and how long it took.
struct Call {
    std::string plugin, command;
    double milliseconds = 0;
};

class Runtime {
  public:
    struct Options {
        std::string plugins = kDebianPlugins;
        std::string netns;                           // of the node
        std::chrono::milliseconds patience{10'000};  // for each call
        // A folder for results in libcni's format cniCacheV1, but for the configuration; empty: none.
        std::string cache = "";
    };
    Runtime(Options options, Conflist conflist)
        : options_(std::move(options)), conflist_(std::move(conflist)) {}

    const Conflist& conflist() const { return conflist_; }

    // Checks that each plug-in is there and speaks the list's version.
    Status check_plugins() const;

    // An ADD that fails is followed by DEL, as libcni's users have it.
    Result<Added> add(const Attachment& what);
    Status check(const Attachment& what);
    Status del(const Attachment& what);
    // Returns whether the plug-ins could attach a pod now; an error has the first plug-in's error
    // object. Since CNI 1.1.0. kNotSupported: the list is of an earlier version.
    Status status();
    // Has all plug-ins clear up after each attachment that is none of these. Since CNI 1.1.0.
    // kNotSupported: the list is of an earlier version, or wants no GC (disableGC).
    Status gc(const std::vector<Attachment>& valid);
    // An ADD whose plug-in is killed after so long, and nothing else: no DEL follows. Gives the name
    // of the plug-in that was killed; empty: all had ended before.
    Result<std::string> add_killed_after(const Attachment& what, std::chrono::microseconds life);

    // Calls to plug-ins so far.
    const std::vector<Call>& calls() const { return calls_; }

  private:
    struct Said {
        bool ok = false;
        bool killed = false;
        std::string out;
        std::string complaint;  // of one that failed
    };
    Result<Said> call(const Plugin& plugin, const std::string& command, const Attachment& what,
                      const std::string& previous, std::chrono::microseconds life,
                      const std::string& more = "{}");
    // `more`: an object with keys beside those of the plug-in's configuration.
    std::string input_of(const Plugin& plugin, const Attachment& what, const std::string& previous,
                         const std::string& more) const;
    Status speaks_1_1(const char* command) const;
    Status keep(const Attachment& what, const std::string& result) const;
    Result<Added> take(const Plugin& plugin, const Said& said) const;

    Options options_;
    Conflist conflist_;
    std::map<std::string, std::string> results_;  // of ADD, by container and interface
    std::vector<Call> calls_;
};

}  // namespace pathproof::cni
