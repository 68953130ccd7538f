// systemd-resolved(8) as the stub resolver of one network namespace.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/process/child.h"

namespace pathproof::resolver {

class SystemdResolved {
  public:
    static constexpr const char* kStub = "127.0.0.53";

    // Starts the one of this host with a configuration of its own: that server for every domain and no
    // cache, and else what it does by itself. It sees neither the machine's /run nor its D-Bus, runs in a PID namespace of
    // its own, and ends with the calling thread. Returns once its stub answers. Errors:
    // not installed (kNotFound, with the package), or its last words.
    static Result<SystemdResolved> start(const std::string& netns, const std::string& server);

    SystemdResolved(SystemdResolved&&) = default;
    ~SystemdResolved();

  private:
    explicit SystemdResolved(process::Child child) : child_(std::move(child)) {}

    process::Child child_;
};

}  // namespace pathproof::resolver
