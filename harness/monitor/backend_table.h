// Table of the backends' answered and unanswered flows, kept up to date from a dump, events and
// refusals.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/monitor/backend.h"
#include "harness/monitor/refusal_listener.h"
#include "harness/monitor/traffic_table.h"
#include "harness/netfilter/entry.h"

namespace pathproof::monitor {

struct BackendTableOptions {
    BackendRules rules;
    enum class Scope {
        kTranslated,  // services: destinations that are translated to another address or port
        kAll,         // every destination; without a translation it is its own backend
    } scope = Scope::kTranslated;
    // Most backends, waiting flows and strays that are kept. Backends without flows make room for
    // new ones; flows that find no room are counted in BackendReport::flows_left_out. Waiting flows
    // cost about 160 bytes each.
    std::size_t backends = 4096;
    std::size_t waiting = std::size_t{1} << 17;
    std::size_t strays = 256;
};

// Hidden entries of clashes are left out: whether they are answered is the race's affair, not the
// backend's.
class BackendTable {
  public:
    explicit BackendTable(const BackendTableOptions& options);
    ~BackendTable();

    // Entries that exist already. An unanswered one counts as waiting since `now_ns`.
    void seed(const netfilter::Entry& entry, std::int64_t now_ns);
    // From here on a NEW event is never about a flow that seed() was given.
    void end_of_seeds();

    void take(const netfilter::Event& event);
    // A refusal may come before the NEW event of the flow that it belongs to.
    void take(const Refusal& refusal, Sender sender, std::int64_t now_ns);

    // Packets of known backends; without any of these two the flows alone decide.
    void take(const PassedPacket& packet);
    // `asked` and `answered`: packets that conntrack has counted since the entry was read last.
    void take_counted(const netfilter::Entry& entry, std::uint64_t asked, std::uint64_t answered,
                      std::int64_t now_ns);

    // Lets go of refusals whose flow has not come.
    void tick(std::int64_t now_ns);

    // Services with most flows first. Says nothing of where refusals and packets were looked for.
    // `traffic`: the packets taken are all that there were.
    BackendReport report(std::int64_t now_ns, bool traffic = false) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::monitor
