#include "harness/kubernetes/preflight.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "dataplane/base/exit_code.h"
#include "dataplane/base/plural.h"
#include "harness/agent/counters.h"
#include "harness/agent/dns_load.h"
#include "harness/agent/transfer.h"
#include "harness/process/stop.h"
#include "harness/setting/cures.h"

namespace pathproof::kubernetes {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr unsigned kSmallOnes = 20;
constexpr unsigned kLargeOnes = 5;
constexpr std::uint32_t kFragmented = 4000;
constexpr std::uint64_t kTransferBytes = 1'000'000;
constexpr milliseconds kPatience{300};
constexpr milliseconds kTransferPatience{4000};
constexpr std::uint32_t kLeastMtu = 576;

// Datagrams without a checksum are the control: an offload that leaves wrong checksums, or a NAT that
// breaks them, has nothing to break in those.
bool are_checksums_wrong(const PreflightFigures& figures) {
    const bool control_holds = figures.without_checksum.all();
    const bool mostly_lost = figures.with_checksum.answered * 2 < figures.with_checksum.sent;
    const bool tcp_fails = figures.transfer && !figures.transfer->ok;
    return (control_holds && mostly_lost) ||
           (figures.wrong_checksums != 0 && (mostly_lost || tcp_fails));
}

std::string checksum_text(const PreflightFigures& figures) {
    return fmt::format(
        "checksums: {} of {} datagrams with a UDP checksum came back, and {} of {} without "
        "one{}{}. "
        "To try on both nodes, for the tunnel's device (flannel.1, vxlan.calico): {}",
        figures.with_checksum.answered, figures.with_checksum.sent,
        figures.without_checksum.answered, figures.without_checksum.sent,
        figures.transfer && !figures.transfer->ok ? "; TCP: " + figures.transfer->outcome : "",
        figures.wrong_checksums == 0 ? ""
                                     : fmt::format("; {} thrown away here for a wrong checksum",
                                                   plural(figures.wrong_checksums, "packet")),
        setting::cure("tx-checksum-off").quoted({{"$TUNNEL", "DEVICE"}}));
}

std::string mtu_text(const PreflightFigures& figures) {
    return fmt::format(
        "mtu: {} of {} packets of {} bytes with DF came back ({}), {}: set the pods' MTU to what "
        "the "
        "way carries",
        figures.whole.answered, figures.whole.sent, figures.mtu, figures.whole.trouble,
        figures.largest == 0 ? std::string("and no smaller one that was tried")
                             : fmt::format("and the largest that does has {}", figures.largest));
}

std::string right_text(const PreflightFigures& figures) {
    return fmt::format(
        "right: checksums ({} of {} datagrams, {} bytes over TCP), packets of {} bytes with DF, "
        "datagrams of {} bytes in fragments, {} of {} pairs of DNS queries (median {:.1f} ms)",
        figures.with_checksum.answered, figures.with_checksum.sent,
        figures.transfer ? figures.transfer->received : 0, figures.mtu, kFragmented,
        figures.pairs.both, figures.pairs.asked_for, figures.pairs.median_ms);
}

std::uint64_t wrong_checksums() {
    const auto counters = agent::read_protocol_counters();
    std::uint64_t all = 0;
    for (const char* name : {"Udp.InCsumErrors", "Tcp.InCsumErrors", "Udp6InCsumErrors"}) {
        const auto found = counters ? counters->find(name) : decltype(counters->find(name))();
        all += counters && found != counters->end() ? found->second : 0;
    }
    return all;
}

// Until anything comes back.
Result<bool> wait_for_answer(const frame::Endpoint& echo_at, milliseconds wait) {
    const auto deadline = Clock::now() + wait;
    while (Clock::now() < deadline && !process::stopping()) {
        for (const bool no_checksum : {false, true}) {
            const auto tried = echo(echo_at, {.no_checksum = no_checksum}, 1, kPatience);
            if (tried && !tried->none()) {
                return true;
            }
        }
        std::this_thread::sleep_for(milliseconds(200));
    }
    return false;
}

std::uint32_t header_bytes(const frame::Endpoint& server) {
    return server.address.family == frame::Family::kIpv4 ? 28 : 48;
}

// By halves; 0: not even the smallest that each network has to carry.
Result<std::uint32_t> largest_packet(const frame::Endpoint& at, std::uint32_t mtu) {
    std::uint32_t carried = 0, lost = mtu;
    for (std::uint32_t size = kLeastMtu; size < lost; size = carried + (lost - carried) / 2) {
        const auto tried =
            TRY(echo(at, {.bytes = size - header_bytes(at), .df = true}, 2, kPatience));
        if (tried.none()) {
            if (size == kLeastMtu) {
                return 0U;
            }
            lost = size;
        } else {
            carried = size;
        }
        if (carried + 1 >= lost) {
            break;
        }
    }
    return carried;
}

}  // namespace

int PreflightVerdict::exit_code() const {
    switch (kind) {
        case Kind::kRight: return kDone;
        case Kind::kWrong: return 1;
        case Kind::kNothingCame: return kIncomplete;
    }
    return kIncomplete;
}

PreflightVerdict judge(const PreflightFigures& figures) {
    using Kind = PreflightVerdict::Kind;
    PreflightVerdict verdict;
    if (figures.with_checksum.none() && figures.without_checksum.none()) {
        verdict.line = "nothing came back: no server is there, or nothing gets there and back";
        return verdict;
    }
    std::vector<std::string> sentences;
    const auto wrong = [&](const char* word, std::string sentence) {
        verdict.wrong.emplace_back(word);
        sentences.push_back(std::move(sentence));
    };
    const bool checksums = are_checksums_wrong(figures);
    if (checksums) {
        wrong("checksums", checksum_text(figures));
    } else {
        if (!figures.with_checksum.all()) {
            wrong("loss", fmt::format("loss: {} of {} small datagrams came back",
                                      figures.with_checksum.answered, figures.with_checksum.sent));
        }
        if (!figures.whole.all()) {
            wrong("mtu", mtu_text(figures));
        }
        if (!figures.fragments.all()) {
            wrong("fragments",
                  fmt::format("fragments: {} of {} datagrams of {} bytes came back ({})",
                              figures.fragments.answered, figures.fragments.sent, kFragmented,
                              figures.fragments.trouble));
        }
        if (figures.transfer && !figures.transfer->ok) {
            wrong("tcp", "tcp: " + figures.transfer->outcome);
        }
        if (!figures.pairs.failed.empty()) {
            wrong("dns-pairs", fmt::format("dns-pairs: {} of {} lost an answer",
                                           figures.pairs.failed.size(), figures.pairs.sent));
        }
    }
    if (!verdict.wrong.empty()) {
        verdict.kind = Kind::kWrong;
        verdict.line = fmt::format("WRONG: {}", fmt::join(sentences, "; "));
    } else if (figures.pairs.sent < figures.pairs.asked_for) {
        verdict.line = fmt::format("not all was sent: {} of {} pairs of DNS queries",
                                   figures.pairs.sent, figures.pairs.asked_for);
    } else {
        verdict.kind = Kind::kRight;
        verdict.line = right_text(figures);
    }
    return verdict;
}

Result<PreflightFigures> fly(const PreflightOptions& options) {
    frame::Endpoint echo_at = options.server, transfer_at = options.server;
    echo_at.port = static_cast<std::uint16_t>(echo_at.port + kEchoPort);
    transfer_at.port = static_cast<std::uint16_t>(transfer_at.port + kTransferPort);
    PreflightFigures figures;
    const std::uint64_t before = wrong_checksums();
    if (!TRY(wait_for_answer(echo_at, options.wait))) {
        return figures;
    }
    figures.with_checksum = TRY(echo(echo_at, {}, kSmallOnes, kPatience));
    figures.without_checksum = TRY(echo(echo_at, {.no_checksum = true}, kSmallOnes, kPatience));
    figures.transfer = TRY(agent::tcp_transfer(
        {.server = transfer_at, .bytes = kTransferBytes, .timeout = kTransferPatience}));
    figures.wrong_checksums = wrong_checksums() - before;
    figures.mtu = TRY(mtu_towards(echo_at));
    if (are_checksums_wrong(figures)) {
        return figures;  // what else is lost says nothing of sizes or pairs
    }
    const std::uint32_t whole = figures.mtu - std::min(figures.mtu, header_bytes(echo_at));
    figures.whole = TRY(
        echo(echo_at, {.bytes = std::min(whole, kMostEcho), .df = true}, kLargeOnes, kPatience));
    if (!figures.whole.all()) {
        figures.largest = TRY(largest_packet(echo_at, figures.mtu));
    }
    figures.fragments = TRY(echo(echo_at, {.bytes = kFragmented}, kLargeOnes, kPatience));
    const agent::DnsLoadOptions load{.server = options.server,
                                     .name = "pair.pathproof.test",
                                     .asks = agent::DnsLoadOptions::Asks::kPairTogether,
                                     .lookups = options.pairs,
                                     .per_second = options.pairs_per_second,
                                     .timeout = milliseconds(2000)};
    figures.pairs = judge_pairs(TRY(agent::dns_load(load)), options.pairs);
    return figures;
}

}  // namespace pathproof::kubernetes
