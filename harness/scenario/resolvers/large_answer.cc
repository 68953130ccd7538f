// A name with many addresses cannot be looked up: its answer is larger than a packet, and the path drops
// fragments; or it is cut to what a datagram takes, and the path or the resolver does not do DNS over TCP.
//
// Set:  how many addresses the name has; how large an answer the DNS server sends over UDP, and whether it
//       minds what the query takes; on the DUT fragments dropped (before conntrack joins them), TCP to port
//       53 dropped; a server's link of a smaller MTU; options of the client's resolv.conf.
// Sent: lookups by getaddrinfo(3) of glibc and of musl, each in a fresh process.
// Seen: the addresses that came of each; queries and answers with their sizes; fragments and SYNs as they
//       came into the DUT and left it, and datagrams that it joined of fragments; RSTs.

#include "harness/scenario/resolvers/large_answer.h"

#include <algorithm>
#include <map>

#include "dataplane/frame/dns.h"
#include "dataplane/frame/view.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

constexpr unsigned kLargeLookups = 3;
// glibc waits for a TCP connection until the kernel gives up, two minutes.
constexpr agent::milliseconds kLargeLimit{9'000};
constexpr double kSlowMs = 1'000;
constexpr const char* kLargeRest = ".many.example.com";
constexpr std::uint16_t kDns = 53;
constexpr std::uint8_t kFlagsOfTcp = 13;  // byte of the header (RFC 9293 section 3.1)
constexpr std::uint8_t kSynFlag = 0x02, kRstFlag = 0x04, kAckFlag = 0x10;

std::uint8_t tcp_flags(const frame::PacketView& view, const agent::CapturedFrame& frame) {
    const std::size_t at = view.transport_offset + kFlagsOfTcp;
    return view.transport == frame::Transport::kTcp && at < frame.bytes.size() ? frame.bytes[at]
                                                                               : 0;
}

// A datagram of the server that came in fragments.
struct Fragmented {
    std::uint16_t client_port = 0;
    std::uint64_t fragments = 0;
    std::size_t bytes = 0;  // of the IP payload that came
    std::size_t whole = 0;  // that there is of it; 0: the last fragment did not come
    bool is_whole() const { return whole != 0 && bytes >= whole; }
};

// Groups the fragments by their IP identification.
std::map<std::uint16_t, Fragmented> fragments_of(const std::vector<agent::CapturedFrame>& frames,
                                                 const frame::IpAddress& server) {
    constexpr std::uint16_t kMoreFragments = 0x2000, kOffset = 0x1fff;  // RFC 791 section 3.1
    std::map<std::uint16_t, Fragmented> datagrams;
    for (const agent::CapturedFrame& frame : frames) {
        const frame::PacketView view = frame::parse_packet(frame.bytes);
        if (view.network != frame::Network::kIpv4 || view.fragment == frame::Fragment::kWhole ||
            view.source != server) {
            continue;
        }
        const auto field = [&](std::size_t at) {
            const std::size_t from = view.network_offset + at;
            return from + 1 < frame.bytes.size()
                       ? static_cast<std::uint16_t>(frame.bytes[from] << 8 | frame.bytes[from + 1])
                       : std::uint16_t{0};
        };
        const std::size_t header = (frame.bytes[view.network_offset] & 0x0fu) * 4u;
        const std::size_t payload = field(2) - header;
        const std::size_t offset = (field(6) & kOffset) * 8u;
        Fragmented& datagram = datagrams[field(4)];
        ++datagram.fragments;
        datagram.bytes += payload;
        if ((field(6) & kMoreFragments) == 0) {
            datagram.whole = offset + payload;
        }
        if (offset == 0) {
            // The UDP header is in the first fragment: RFC 791 cuts at 8 bytes at least.
            datagram.client_port = field(header + 2);
        }
    }
    return datagrams;
}

std::uint64_t count_fragments(const std::map<std::uint16_t, Fragmented>& datagrams) {
    std::uint64_t fragments = 0;
    for (const auto& [id, datagram] : datagrams) {
        fragments += datagram.fragments;
    }
    return fragments;
}

bool has_whole(const std::map<std::uint16_t, Fragmented>& datagrams, std::uint16_t client_port) {
    return std::ranges::any_of(datagrams, [&](const auto& entry) {
        return entry.second.client_port == client_port && entry.second.is_whole();
    });
}

// SYNs to the server's port 53, or RSTs from it.
std::uint64_t count_tcp(const std::vector<agent::CapturedFrame>& frames,
                        const frame::IpAddress& server, std::uint8_t flag) {
    std::uint64_t count = 0;
    for (const agent::CapturedFrame& frame : frames) {
        const frame::PacketView view = frame::parse_packet(frame.bytes);
        const std::uint8_t flags = tcp_flags(view, frame);
        const frame::Endpoint dns{server, kDns};
        const bool is_syn = flag == kSynFlag && (flags & (kSynFlag | kAckFlag)) == kSynFlag &&
                            view.destination_endpoint() == dns;
        const bool is_rst =
            flag == kRstFlag && (flags & kRstFlag) != 0 && view.source_endpoint() == dns;
        count += is_syn || is_rst ? 1 : 0;
    }
    return count;
}

// The DUT's table that drops IPv4 fragments before conntrack joins them (NF_IP_PRI_CONNTRACK_DEFRAG).
setting::Setting drop_fragments() {
    return setting::nft_table(setting::HostRole::kDut, "drop-fragments", "pathproof-fragments",
                              "table ip pathproof-fragments {\n"
                              "  chain prerouting {\n"
                              "    type filter hook prerouting priority -450; policy accept;\n"
                              "    ip frag-off & 0x3fff != 0 drop\n"
                              "  }\n"
                              "}\n");
}

setting::Setting tcp_rule(const char* id, const char* target) {
    const std::string rule = std::string("FORWARD -p tcp --dport 53 -j ") + target;
    return setting::rules(setting::HostRole::kDut, id, "filter", "-A " + rule + "\n",
                          "iptables -A " + rule);
}

setting::Settings settings_of(const LargeAnswerCell& what, const lab::NatPathNames& names) {
    setting::Settings settings;
    if (what.drops_fragments) {
        settings.push_back(drop_fragments());
    }
    if (what.allows_tcp) {
        settings.push_back(setting::cure("allow-dns-tcp").settings.front());
    }
    if (what.filters_tcp) {
        settings.push_back(tcp_rule("filter-dns-tcp", "DROP"));
    }
    if (what.server_mtu != 1500) {
        const std::string& device = names.server_device;
        settings.push_back(
            setting::links(setting::HostRole::kServer, "server-mtu", device,
                           {{fmt::format("link set dev {} mtu {}", device, what.server_mtu),
                             fmt::format("link set dev {} mtu 1500", device)}}));
    }
    return settings;
}

class LargeAnswerBench {
  public:
    explicit LargeAnswerBench(Context& context) : context_(context) {}

    Status open() {
        hosts_ = TRY(ResolverHosts::open(context_));
        return {};
    }

    MeasuredLargeAnswerCell measure(const LargeAnswerCell& what) {
        MeasuredLargeAnswerCell cell{.what = what, .seen = {}, .evidence = {}};
        std::string text;
        cell.seen.lacking = hosts_.lacks(what.who);
        const Status made = cell.seen.lacking.empty() ? run(what, cell.seen, text) : Status();
        if (!made) {
            cell.seen.objections.push_back(made.error().message);
        }
        keep_evidence(context_.options.out_dir, what.id + ".lookups.txt",
                      "every lookup with its queries", text, cell.evidence);
        return cell;
    }

  private:
    Status run(const LargeAnswerCell& what, LargeAnswerValues& seen, std::string& text) {
        TRY(hosts_.set(settings_of(what, hosts_.names())));
        agent::DnsRules rules{.largest_udp = what.largest_udp,
                              .ignores_query_size = what.ignores_query_size,
                              .serves_tcp = what.serves_tcp};
        std::vector<AskedLookup> asked;
        for (unsigned n = 0; n < kLargeLookups; ++n) {
            const std::string name = fmt::format("n{:05}{}", ++names_, kLargeRest);
            asked.push_back({.who = what.who,
                             .lookup = {.name = name,
                                        .resolv_conf = hosts_.resolv_conf({}, what.options),
                                        .limit = kLargeLimit}});
            seen.addresses = addresses_in(what.bytes, name.size());
        }
        rules.rules.push_back({.name = ".",
                               .type = frame::kDnsTypeA,
                               .address = frame::IpAddress::v4(0xcb007101),  // 203.0.113.1
                               .addresses = static_cast<std::uint16_t>(seen.addresses)});
        rules.rules.push_back({.name = "."});
        RoundFrames frames;
        const std::uint64_t before = TRY(hosts_.reassembled());
        const auto trails = TRY(hosts_.round(asked, std::move(rules), {}, &frames));
        seen.reassembled = TRY(hosts_.reassembled()) - before;
        for (std::size_t n = 0; n < trails.size(); ++n) {
            text += trail_text(asked[n].lookup.name, trails[n]);
        }
        judge_large_answers(what, trails, frames, hosts_.names().server_address, seen);
        return {};
    }

    Context& context_;
    ResolverHosts hosts_;
    unsigned names_ = 0;
};

}  // namespace

unsigned addresses_in(unsigned bytes, std::size_t name_length) {
    // Header, question (a length before each label, an empty one, type and class), and for each address a
    // pointer to the name with type, class, TTL, length and four bytes (RFC 1035 section 4.1).
    const std::size_t question = name_length + 2 + 4;
    return static_cast<unsigned>((bytes - frame::kDnsHeaderBytes - question) / 16);
}

void judge_large_answers(const LargeAnswerCell& what, const std::vector<LookupTrail>& trails,
                         const RoundFrames& frames, const frame::IpAddress& server,
                         LargeAnswerValues& seen) {
    const auto into_dut = fragments_of(frames.at_dut, server);
    const auto at_client = fragments_of(frames.at_client, server);
    seen.fragments_in = count_fragments(into_dut);
    seen.fragments_out = count_fragments(at_client);
    seen.syns_in = count_tcp(frames.at_dut, server, kSynFlag);
    seen.syns_out = count_tcp(frames.at_server, server, kSynFlag);
    seen.refusals = count_tcp(frames.at_client, server, kRstFlag);
    // The resolver waits for 5 s, musl for half as long.
    const double patience = what.who == resolver::Kind::kMusl ? 2'250 : 4'500;
    seen.fewest_addresses = seen.addresses;
    for (const LookupTrail& trail : trails) {
        ++seen.lookups;
        seen.longest_ms = std::max(seen.longest_ms, trail.outcome.milliseconds);
        seen.fewest_addresses = std::min(seen.fewest_addresses, trail.outcome.address_count());
        bool lost_fragments = false;
        bool was_cut = false;
        for (const QueryTrail& query : trail.queries) {
            if (query.tcp || query.type != frame::kDnsTypeA || !query.taken) {
                continue;
            }
            const std::uint64_t takes = std::max<std::uint64_t>(query.edns_bytes, 512);
            seen.query_takes = takes;
            seen.largest_udp = std::max<std::uint64_t>(seen.largest_udp, query.answer_bytes);
            seen.oversized += query.answer_bytes > takes ? 1 : 0;
            seen.cut += query.truncated ? 1 : 0;
            was_cut |= query.truncated && query.came;
            // A datagram that the DUT joined was lost after that, as any datagram can be.
            lost_fragments |= seen.reassembled == 0 && has_whole(into_dut, query.client.port) &&
                              !has_whole(at_client, query.client.port);
        }
        const bool is_whole = trail.outcome.ok() && trail.outcome.milliseconds < kSlowMs &&
                              trail.outcome.address_count() == seen.addresses;
        if (is_whole) {
            ++seen.whole;
            continue;
        }
        seen.outcome = seen.outcome.empty() ? trail.outcome.word : seen.outcome;
        const bool did_tcp = std::ranges::any_of(trail.queries, &QueryTrail::tcp);
        if (lost_fragments) {
            ++seen.by_fragments;
        } else if (was_cut && !did_tcp && seen.syns_in == 0) {
            ++seen.by_resolver;
        } else if (was_cut && !did_tcp && seen.syns_out == 0) {
            ++seen.by_filter;
        } else if (was_cut && !did_tcp && seen.refusals != 0) {
            ++seen.by_refusal;
        } else if (const std::string strange = strange_fate(trail.queries, patience);
                   !strange.empty()) {
            ++seen.by_other;
            seen.other = strange;
        } else {
            ++seen.unexplained;
        }
    }
}

std::vector<LargeAnswerCell> large_answer_plan() {
    std::vector<LargeAnswerCell> cells = with_roles<LargeAnswerCell>({
        {.id = "glibc.512.tcp-filtered", .label = "512", .bytes = 512, .filters_tcp = true},
        {.id = "glibc.1232.fragments-dropped",
         .label = "1232, not lowered",
         .bytes = 1232,
         .largest_udp = 4096,
         .ignores_query_size = true,
         .drops_fragments = true},
        {.id = "glibc.1500.fragments-dropped",
         .label = "1500, not lowered",
         .bytes = 1500,
         .largest_udp = 4096,
         .ignores_query_size = true,
         .drops_fragments = true},
        {.id = "glibc.4096.fragments-pass",
         .label = "4096, not lowered, fragments pass",
         .largest_udp = 4096,
         .ignores_query_size = true},
        {.id = "glibc.4096.fragments-dropped",
         .label = "4096, not lowered",
         .largest_udp = 4096,
         .ignores_query_size = true,
         .drops_fragments = true},
        {.id = "glibc.4096.edns0.fragments-dropped",
         .label = "4096, edns0, not lowered",
         .options = "edns0",
         .largest_udp = 4096,
         .ignores_query_size = true,
         .drops_fragments = true},
        {.id = "glibc.1184.edns0.mtu-1000.fragments-dropped",
         .label = "1184, edns0, MTU 1000",
         .bytes = 1184,
         .options = "edns0",
         .server_mtu = 1000,
         .drops_fragments = true},
        {.id = "glibc.1232.tcp-filtered", .label = "1232", .bytes = 1232, .filters_tcp = true},
        {.id = "glibc.1232.edns0.tcp-filtered",
         .label = "1232, edns0",
         .bytes = 1232,
         .options = "edns0",
         .filters_tcp = true},
        {.id = "glibc.1500.tcp-filtered", .label = "1500", .bytes = 1500, .filters_tcp = true},
        {.id = "glibc.4096.no-tcp", .label = "4096, no TCP at the server", .serves_tcp = false},
        {.id = "musl.1500", .label = "musl: 1500", .bytes = 1500},
        {.id = "musl.4096.fragments-dropped",
         .label = "musl: 4096, not lowered",
         .largest_udp = 4096,
         .ignores_query_size = true,
         .drops_fragments = true},
        {.id = "control.512", .label = "control: 512", .bytes = 512},
        {.id = "control.1500", .label = "control: 1500, TCP", .bytes = 1500},
        {.id = "control.musl.512", .label = "control: musl, 512", .bytes = 512},
        {.id = "cure.edns-1232", .label = "cure: at most 1232 by UDP", .drops_fragments = true},
        {.id = "cure.use-vc",
         .label = "cure: use-vc",
         .options = "use-vc",
         .largest_udp = 4096,
         .ignores_query_size = true,
         .drops_fragments = true},
        {.id = "cure.allow-dns-tcp",
         .label = "cure: TCP allowed",
         .bytes = 1500,
         .filters_tcp = true,
         .allows_tcp = true},
        {.id = "glibc.4096.fragments-dropped.after-cure",
         .label = "after the cure",
         .largest_udp = 4096,
         .ignores_query_size = true,
         .drops_fragments = true},
        {.id = "glibc.1500.tcp-filtered.after-cure",
         .label = "TCP filtered, after the cure",
         .bytes = 1500,
         .filters_tcp = true},
    });
    for (LargeAnswerCell& cell : cells) {
        cell.who = resolver_in(cell.id);
    }
    return cells;
}

Scenario large_answer_scenario() {
    return nat_path_scenario<LargeAnswerBench, large_answer_plan, large_answer_conclusions>(
        "large-answer", "DNS answers larger than a packet, or than the query takes",
        "Does a lookup come to every address of a name with many, whatever the path does with "
        "fragments and TCP?");
}

}  // namespace pathproof::scenario
