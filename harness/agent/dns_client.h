// A name looked up as glibc's getaddrinfo does it (resolv/res_send.c): the A and the AAAA query
// leave one connected UDP socket in one sendmmsg, or share one TCP connection.
#pragma once

#include "dataplane/base/result.h"
#include "harness/agent/probes.h"

namespace pathproof::agent {

// Each attempt waits `options.timeout` for both answers. An answer counts when its id, its question
// and (the socket being connected) its source fit; others are thrown away, as glibc does. After an
// attempt that got one answer of two, the next ones send the second query only when the first is
// answered (RES_SNGLKUP). A truncated answer over UDP is asked for again over TCP. `ok`: both
// answers came, without an error code, and at least one holds an address. An error means that no
// socket could be had or that the name is none.
Result<ProbeResult> dns_lookup(const DnsLookupOptions& options);

}  // namespace pathproof::agent
