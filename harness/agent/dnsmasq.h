// dnsmasq(8) as a DNS server of this namespace, by its command line alone.
#pragma once

#include <memory>

#include "dataplane/base/result.h"
#include "harness/agent/client.h"

namespace pathproof::agent {

class Dnsmasq {
  public:
    // Starts the one that is installed and waits until it serves. It runs in a PID
    // namespace of its own, so that its workers end with it, and it ends with this process. Errors:
    // not installed (kNotFound), an option that it does not know (kNotSupported), or its last words.
    static Result<std::unique_ptr<Dnsmasq>> start(const DnsmasqOptions& options);
    virtual ~Dnsmasq() = default;

    // With what it says itself of its workers (SIGUSR1).
    virtual DnsmasqReport report() = 0;
};

// The numbers of the last line "child processes for TCP requests: in use 20, highest since last
// SIGUSR1 20, max allowed 20.": nothing where there is none, as before 2.90.
std::optional<DnsmasqWorkers> workers_said(const std::vector<std::string>& log);

}  // namespace pathproof::agent
