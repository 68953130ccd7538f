// A UDP flow keeps going to an endpoint that its service has no more.
//
// Set:  a client, a DUT that translates a service's address to an endpoint, a server with both
//       endpoints; the service's rules are changed while the client sends: to the other endpoint, or
//       to REJECT for want of one.
// Sent: a datagram every 100 ms from one port, or another.
// Seen: where each comes out; the flow's entry and what the service's rule counted.

#include "harness/scenario/stale_udp.h"

#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "dataplane/frame/view.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/scenario.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using StaleService = lab::NatPathOptions::Service;
using StaleFlows = lab::NatPathOptions::Flows;
using StaleRole = verdict::Cell::Role;

constexpr unsigned kDatagramsBefore = 5;
constexpr unsigned kDatagramsAfter = 15;
constexpr auto kDatagramInterval = 100ms;
// Of the cell with a silence: entries of conntrack are looked at once a second.
constexpr unsigned kShortTimeout_s = 1;
constexpr auto kSilence = 3s;
constexpr std::uint16_t kFirstSourcePort = 40'000;
constexpr std::uint16_t kOtherFlow = 1000;  // source ports further
constexpr std::uint16_t kBystander = 2000;

class StaleUdpBench {
  public:
    static Result<std::unique_ptr<StaleUdpBench>> build(Context& context) {
        auto lab = context.lab.nat_path(context.journal);
        if (!lab) {
            return pass_on(lab.error());
        }
        std::unique_ptr<StaleUdpBench> bench(new StaleUdpBench(context));
        bench->lab_ = std::move(*lab);
        const lab::NatPathNames& names = bench->lab_->names();
        for (const auto& [client, netns] : {std::pair{&bench->client_, names.client},
                                            {&bench->dut_, names.dut},
                                            {&bench->server_, names.server}}) {
            auto started = TRY(agent::Client::start_in_netns(netns));
            *client = std::move(started);
        }
        return bench;
    }

    // What keeps a cell from being measured, such as an agent that died, is an objection in it.
    MeasuredStaleUdpCell measure(const StaleUdpCell& what) {
        MeasuredStaleUdpCell cell{.what = what};
        if (const Status made = run(what, cell.seen); !made) {
            cell.seen.objections.push_back(made.error().message);
        }
        if (auto kept = keep_evidence(context_.options.out_dir, what.id + ".entries.json",
                                      "conntrack's entries of the service at the end (JSON lines)",
                                      entries_text_)) {
            cell.evidence = std::move(*kept);
        }
        return cell;
    }

  private:
    explicit StaleUdpBench(Context& context) : context_(context) {}

    Status configure(const StaleUdpCell& what, StaleService service, StaleFlows flows) {
        lab::NatPathOptions options{
            .snat = lab::NatBoxOptions::Snat::kNone, .service = service, .flows = flows};
        options.udp_timeout_s =
            what.then == AfterChange::kSilent ? kShortTimeout_s : options.udp_timeout_s;
        return lab_->configure(options);
    }

    Status send(std::uint16_t port, unsigned datagrams) {
        for (unsigned i = 0; i < datagrams; ++i) {
            const auto sent =
                TRY(client_->send_datagrams({.source = {lab_->names().client_address, port},
                                             .destination = lab_->names().service,
                                             .payloads = {{0x70, 0x70}}}));
            if (!sent.refusals.empty()) {
                return fail(ErrorCode::kFailed, "the client's kernel refused a datagram: {}",
                            sent.refusals.front().reason);
            }
            std::this_thread::sleep_for(kDatagramInterval);
        }
        return {};
    }

    // Sends, and counts where the datagrams of that port come out: at each endpoint.
    Result<std::vector<std::uint64_t>> follow(std::uint16_t port, unsigned datagrams) {
        const lab::NatPathNames& names = lab_->names();
        TRY(server_->start_capture({.device = names.server_device}));
        const Status sent = send(port, datagrams);
        const auto capture = server_->stop_capture();
        if (!sent || !capture) {
            return pass_on(sent ? capture.error() : sent.error());
        }
        std::vector<std::uint64_t> at(names.endpoints.size());
        for (const agent::CapturedFrame& frame : capture->frames) {
            const frame::PacketView view =
                frame::parse_frame(frame.bytes, std::span<const std::uint16_t>()).outer;
            const auto endpoint = std::ranges::find(names.endpoints, view.destination);
            if (view.transport == frame::Transport::kUdp && view.source_port == port &&
                endpoint != names.endpoints.end()) {
                ++at[static_cast<std::size_t>(endpoint - names.endpoints.begin())];
            }
        }
        return at;
    }

    // The entry of that source port to the service; nothing where there is none.
    Result<std::optional<netfilter::Entry>> entry_of(std::uint16_t port) {
        const auto entries = TRY(dut_->conntrack_dump(
            {.protocol = IPPROTO_UDP, .original_destination_port = lab_->names().service.port}));
        entries_text_.clear();
        std::optional<netfilter::Entry> found;
        for (const netfilter::Entry& entry : entries) {
            entries_text_ += nlohmann::json(entry).dump() + "\n";
            if (entry.original.source.port == port &&
                entry.original.destination.address == lab_->names().service.address) {
                found = entry;
            }
        }
        return found;
    }

    static std::uint64_t packets(const std::optional<netfilter::Entry>& entry) {
        return entry && entry->original_counters ? entry->original_counters->packets : 0;
    }

    Status run(const StaleUdpCell& what, StaleUdpValues& seen) {
        const lab::NatPathNames& names = lab_->names();
        const auto port = static_cast<std::uint16_t>(kFirstSourcePort + runs_++);
        const auto bystander = static_cast<std::uint16_t>(port + kBystander);
        TRY(configure(what, StaleService::kFirst, StaleFlows::kForget));
        const auto before = TRY(follow(port, kDatagramsBefore));
        seen.sent_before = kDatagramsBefore;
        seen.reached_before = before[0];
        const auto old_entry = TRY(entry_of(port));
        TRY(configure(what, what.changed_to, StaleFlows::kKeep));
        // A flow to the endpoint that serves: the cure must leave it alone.
        if (what.then == AfterChange::kForgets) {
            TRY(send(bystander, 1));
            seen.deleted = TRY(lab_->forget(0));
            seen.cure_command = fmt::format("{}", fmt::join(lab_->forget_command(0), " "));
        }
        if (what.then == AfterChange::kSilent) {
            std::this_thread::sleep_for(kSilence);
        }
        const auto hits_before = lab_->service_hits();
        const auto own = what.then == AfterChange::kNewFlow
                             ? static_cast<std::uint16_t>(port + kOtherFlow)
                             : port;
        const auto after = follow(own, kDatagramsAfter);
        const auto entry = entry_of(own);
        const auto hits = lab_->service_hits();
        const auto other = what.then == AfterChange::kForgets
                               ? entry_of(bystander)
                               : Result<std::optional<netfilter::Entry>>(std::nullopt);
        const auto error = [](const auto& result) -> const Error* {
            return result ? nullptr : &result.error();
        };
        for (const Error* failed : std::initializer_list<const Error*>{
                 error(hits_before), error(after), error(entry), error(hits), error(other)}) {
            if (failed != nullptr) {
                return pass_on(*failed);
            }
        }
        seen.sent = kDatagramsAfter;
        seen.to_gone = (*after)[0];
        seen.to_new = (*after)[1];
        seen.rule_hits = *hits - *hits_before;
        seen.rejected = what.has_endpoint() ? 0 : seen.rule_hits;
        seen.bystander = what.then != AfterChange::kForgets || other->has_value();
        if (*entry && (*entry)->reply.source.address == names.endpoints[0]) {
            const bool same = old_entry && old_entry->id == (*entry)->id;
            seen.entry = true;
            seen.entry_is_new = !same;
            seen.entry_packets = packets(*entry) - (same ? packets(old_entry) : 0);
            seen.entry_timeout_s = (*entry)->timeout_s.value_or(0);
            seen.entry_text = fmt::format(
                "udp {} src={} dst={} sport={} dport={}{} src={} dst={}", seen.entry_timeout_s,
                to_string((*entry)->original.source.address),
                to_string((*entry)->original.destination.address), own, names.service.port,
                ((*entry)->status & netfilter::status::kSeenReply) == 0 ? " [UNREPLIED]" : "",
                to_string((*entry)->reply.source.address),
                to_string((*entry)->reply.destination.address));
        }
        return {};
    }

    Context& context_;
    std::unique_ptr<lab::NatPath> lab_;
    std::unique_ptr<agent::Client> client_, dut_, server_;
    std::string entries_text_;
    std::uint16_t runs_ = 0;
};

}  // namespace

std::vector<StaleUdpCell> stale_udp_plan() {
    std::vector<StaleUdpCell> cells = {
        {.id = "other-endpoint", .label = "another endpoint"},
        {.id = "no-endpoint",
         .label = "no endpoint: REJECT",
         .changed_to = StaleService::kNoEndpoint},
        {.id = "control.new-flow", .label = "control: a new flow", .then = AfterChange::kNewFlow},
        {.id = "control.no-endpoint.new-flow",
         .label = "control: REJECT, a new flow",
         .changed_to = StaleService::kNoEndpoint,
         .then = AfterChange::kNewFlow},
        {.id = "control.silence", .label = "control: silence", .then = AfterChange::kSilent},
        {.id = "cure.delete-entry", .label = "cure: entry deleted", .then = AfterChange::kForgets},
        {.id = "other-endpoint.after-cure", .label = "after the cure", .again = true},
    };
    for (StaleUdpCell& cell : cells) {
        cell.role = cell.id.starts_with("control.") ? StaleRole::kControl
                    : cell.id.starts_with("cure.")  ? StaleRole::kCure
                                                    : StaleRole::kMatrix;
    }
    return cells;
}

std::vector<std::string> stale_udp_cells() {
    std::vector<std::string> ids;
    std::ranges::transform(stale_udp_plan(), std::back_inserter(ids), &StaleUdpCell::id);
    return ids;
}

Result<verdict::ScenarioResult> run_stale_udp(Context& context) {
    const auto began = std::chrono::steady_clock::now();
    std::vector<StaleUdpCell> plan = stale_udp_plan();
    std::erase_if(plan,
                  [&](const StaleUdpCell& cell) { return !asked_for(context.options, cell.id); });
    context.progress.begin("stale-udp", plan.size());
    auto bench = TRY(StaleUdpBench::build(context));
    std::vector<MeasuredStaleUdpCell> cells;
    for (const StaleUdpCell& cell : plan) {
        context.progress.step(cell.id);
        cells.push_back(bench->measure(cell));
        verdict::Cell made = conclude(cell, cells.back().seen);
        made.evidence = cells.back().evidence;
        context.measured.add(made, made.role == StaleRole::kControl);
        if (made.verdict == verdict::CellVerdict::kError) {
            break;
        }
    }
    verdict::ScenarioResult result = conclude(cells);
    result.id = "stale-udp";
    result.title = "UDP to an endpoint that is gone: its conntrack entry outlives it";
    result.question = "Does a UDP flow follow its service when the service's endpoint changes?";
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
}

}  // namespace pathproof::scenario
