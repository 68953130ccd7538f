#include "harness/agent/server.h"

#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "dataplane/base/file.h"
#include "dataplane/base/version.h"
#include "harness/agent/operations.h"
#include "harness/agent/program_copy.h"

namespace pathproof::agent {
namespace {

using nlohmann::json;

// The first question of a client: is this an agent, and does it run at all?
Result<json> hello() {
    utsname host{};
    uname(&host);
    return json{{"agent", "pathproof"},
                {"pid", getpid()},
                {"version", version()},
                {"build", build_id()},
                {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
                {"kernel", fmt::format("{} {} {}", host.sysname, host.release, host.machine)}};
}

}  // namespace

Operations::Operations(process::RpcServer& rpc) : rpc_(rpc) {
    add("stop_servers", [running = running_]() -> Status {
        const std::lock_guard lock(running->mutex);
        running->servers.clear();
        return {};
    });
}

void serve(int input, int output, const std::function<void(process::RpcServer&)>& more) {
    // While no socket asks for packets' times the kernel makes none, and it begins to only some time
    // after one asks (net_enable_timestamp): the first frames of a capture would have the time at
    // which they are read.
    const Fd asks_for_times(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(asks_for_times.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    process::RpcServer server;
    Operations operations(server);
    server.on("hello", [](const json&) { return hello(); });
    operations.add("clock", realtime_ns);
    for (const auto add : kOperations) {
        add(operations);
    }
    if (more) {
        more(server);
    }
    server.serve(input, output);
}

}  // namespace pathproof::agent
