// pod-churn: harm that pods do to others' traffic by being attached and detached.
//
// Set:  two pods of a node, and a host outside.
// Sent: a numbered stream of datagrams from one pod to the other, or by its gateway to the host outside,
//       and TCP transfers, while other pods are attached and detached there; and the same without those.
// Seen: which numbers arrive, in which order, and what became of the transfers.

#include <atomic>
#include <thread>

#include "dataplane/base/plural.h"
#include "dataplane/frame/view.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/probes.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/pods/pod_bench.h"
#include "harness/scenario/pods/pod_life.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kPodsAsIs = 5;
constexpr auto kStreamInterval = 5ms;
constexpr auto kShortest = 1s;
constexpr std::uint16_t kStreamPort = 7070;

class PodChurnRun {
  public:
    using Measured = MeasuredPodChurn;

    PodChurnRun(Context& context, const std::string& chain) : context_(context), chain_(chain) {}

    static bool takes(const PodChurnCell& /*what*/) { return false; }

    Status open() {
        bench_ = TRY(PodBench::open(context_, chain_));
        TRY(bench_->attach(0, "a1"));
        auto* const receiver = TRY(bench_->attach(0, "a2"));
        to_pod_ = receiver->added.addresses.front().address;
        to_outside_ = bench_->nodes().names().outside_address(to_pod_.family);
        TRY(bench_->serve_on(bench_->host_of("a2"), {to_pod_}));
        return bench_->serve_on(bench_->outside(), {to_outside_});
    }

    // Packets that leave the node go through the tester.
    Status measure(const PodChurnCell& what, PodChurnValues& seen) {
        if (!what.leaves) {
            return stream(what, seen);
        }
        softnic::WirePlan plan;
        plan.tunnel_ports.clear();
        TRY(bench_->tester().start_wire(plan));
        const Status streamed = stream(what, seen);
        const auto wire = bench_->tester().stop_wire("");
        TRY(first_error(streamed, wire));
        std::uint64_t lost = wire->tester_lost;
        for (const softnic::WireTally& tally : wire->directions) {
            lost += tally.not_forwarded;
        }
        tell(seen.objections, lost != 0, "the tester lost {} itself, as the wire",
             plural(lost, "frame"));
        for (const std::string& objection : wire->objections) {
            seen.objections.push_back(objection);
        }
        return {};
    }

  private:
    Status stream(const PodChurnCell& what, PodChurnValues& seen) {
        PodHost& sender = bench_->host_of("a1");
        PodHost& receiver = what.leaves ? bench_->outside() : bench_->host_of("a2");
        const frame::IpAddress to = what.leaves ? to_outside_ : to_pod_;
        // Neighbours on the way are known, so that nothing waits for them.
        TRY(sender.agent->ping({.destination = to, .count = 1}));
        TRY(receiver.agent->start_capture(
            {.device = receiver.device, .most_frames = 200'000, .most_bytes = 128}));
        std::atomic<bool> over = false;
        std::string refusal;
        std::thread datagrams([&] {
            for (; !over; ++seen.sent) {
                const auto number = static_cast<std::uint32_t>(seen.sent);
                const auto sent = sender.agent->send_datagrams(
                    {.source = {{.family = to.family}, kStreamPort},
                     .destination = {to, kStreamPort},
                     .payloads = {{static_cast<std::uint8_t>(number >> 24),
                                   static_cast<std::uint8_t>(number >> 16),
                                   static_cast<std::uint8_t>(number >> 8),
                                   static_cast<std::uint8_t>(number)}}});
                if (!sent || !sent->refusals.empty()) {
                    refusal = sent ? sent->refusals.front().reason : sent.error().message;
                    return;
                }
                std::this_thread::sleep_for(kStreamInterval);
            }
        });
        std::thread transfers([&] {
            while (!over) {
                const auto probe = sender.agent->tcp_transfer(
                    {.server = {to, kPodTransferPort}, .bytes = 50'000, .timeout = 3s});
                ++seen.transfers;
                if (!probe || !probe->ok) {
                    ++seen.broken;
                    seen.first_broken = probe ? probe->outcome : probe.error().message;
                }
                std::this_thread::sleep_for(20ms);
            }
        });
        const auto began = std::chrono::steady_clock::now();
        const Status churned = what.churn ? churn(seen) : Status();
        std::this_thread::sleep_until(began + kShortest);
        over = true;
        datagrams.join();
        transfers.join();
        // Waits for the last datagram: the answer to an echo request sent after it comes later.
        TRY(sender.agent->ping({.destination = to, .count = 1}));
        const auto capture = receiver.agent->stop_capture();
        TRY(first_error(churned, capture));
        tell(seen.objections, !refusal.empty(), "the sender's kernel refused a datagram: {}",
             refusal);
        tell(seen.objections, capture->missing(), "the receiver's listener lost frames itself");
        count(*capture, to, seen);
        return {};
    }

    Status churn(PodChurnValues& seen) {
        if (!churned_) {
            churned_ = TRY(bench_->nodes().make_pod(0, "churn"));
        }
        for (std::uint64_t i = context_.options.number("cycles", kPodsAsIs);
             i > 0 && context_.journal.is_open(); --i) {
            TRY(bench_->nodes().attach(*churned_));
            TRY(bench_->nodes().detach(*churned_));
            ++seen.pods;
        }
        return {};
    }

    void count(const agent::Capture& capture, const frame::IpAddress& to, PodChurnValues& seen) {
        std::vector<bool> came(seen.sent);
        std::int64_t last_ns = 0;
        std::uint32_t highest = 0;
        for (const agent::CapturedFrame& frame : capture.frames) {
            const frame::PacketView view = frame::parse_packet(frame.bytes);
            if (view.transport != frame::Transport::kUdp || view.destination_port != kStreamPort ||
                view.destination != to || view.payload_length < 4) {
                continue;
            }
            const frame::Bytes payload = view.payload(frame.bytes);
            const std::uint32_t number =
                std::uint32_t{payload[0]} << 24 | payload[1] << 16 | payload[2] << 8 | payload[3];
            if (number >= came.size()) {
                continue;
            }
            seen.twice += came[number] ? 1 : 0;
            seen.arrived += came[number] ? 0 : 1;
            seen.reordered += number < highest && !came[number] ? 1 : 0;
            came[number] = true;
            highest = std::max(highest, number);
            if (last_ns != 0) {
                seen.longest_gap_ms = std::max(seen.longest_gap_ms,
                                               1e-6 * static_cast<double>(frame.time_ns - last_ns));
            }
            last_ns = frame.time_ns;
        }
        std::uint64_t in_a_row = 0;
        for (const bool each : came) {
            in_a_row = each ? 0 : in_a_row + 1;
            seen.longest_loss = std::max(seen.longest_loss, in_a_row);
        }
    }

    Context& context_;
    std::string chain_;
    std::unique_ptr<PodBench> bench_;
    std::optional<lab::Pod> churned_;
    frame::IpAddress to_pod_, to_outside_;
};

}  // namespace

Scenario pod_churn_scenario() {
    return {
        "pod-churn",
        "What pods disturb that come and go",
        "Do pods of a node keep what they send each other, and by their gateway to another host, "
        "while other pods are attached and detached there?",
        lab::Role::kPods,
        run_chains<PodChurnRun, pod_churn_plan>,
        chain_ids<pod_churn_plan>,
        Scenario::When::kOnItsLab,
        {kCycles}};
}

}  // namespace pathproof::scenario
