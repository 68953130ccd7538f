// A middlebox between the ports of a run does one thing to known frames: what the run counts is
// what was planted, in the right field, and nothing else.
#include <fmt/format.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <random>
#include <thread>

#include "dataplane/load/load_run.h"
#include "tests/load/taken_frames.h"
#include "tests/port/eal_fixture.h"
#include "tests/port/ring_ports.h"

using namespace pathproof;
using namespace pathproof::load;
using namespace std::chrono_literals;
using frame::Family;
using frame::TrafficClass;

namespace {

port::RingPort& ends() {
    static auto* port = new port::RingPort(port::RingPort::make("bytes", 1024));
    return *port;
}

// Offsets of a frame's headers.
struct At {
    explicit At(const Frame& frame) {
        const frame::FrameView view = frame::parse_frame(frame, frame::TunnelPorts::well_known());
        outer = view.outer.network_offset;
        outer_transport = view.outer.transport_offset;
        ip = view.innermost().network_offset;
        transport = view.innermost().transport_offset;
        payload = view.innermost().payload_offset;
        ethernet = view.innermost().ethernet_offset;
    }
    std::size_t outer, outer_transport, ip, transport, payload, ethernet;
};

enum class Verdict { kWrong, kDamaged, kMissing, kTwice, kReordered };
// Checksums after a fault: repaired to match the changed bytes, or left as they were.
enum class Sums { kRepaired, kLeft };

struct Fault {
    std::string name;
    std::string path;  // which frames are sent: see plan_for
    Sums sums = Sums::kRepaired;
    std::function<void(Frame&, const At&)> change;
    std::string field;  // empty: not judged by field
    Verdict verdict = Verdict::kWrong;
};

SourcePlan plan_for(const std::string& path) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.mix = {{.traffic = TrafficClass::kDnsA}, {.traffic = TrafficClass::kDnsAaaa}};
    if (path == "pairs") {
        plan.mix = {{}};
        plan.pairing = SourcePlan::Pairing::kPairs;
    } else if (path == "padded") {
        plan.mix = {{.frame_bytes = 128}};
    } else if (path == "long") {
        plan.mix = {{.frame_bytes = 512}};
    } else if (path == "udp") {
        plan.mix = {{.traffic = TrafficClass::kUdp, .frame_bytes = 200}};
    } else if (path == "tcp") {
        plan.mix = {{.traffic = TrafficClass::kTcpSyn}};
    } else if (path == "icmp") {
        plan.mix = {{.traffic = TrafficClass::kIcmpEcho}};
    } else if (path == "vlan") {
        plan.spec = spec_of(Family::kIpv4, Envelope::kVlan);
    } else if (path == "vxlan") {
        plan.spec = spec_of(Family::kIpv4, Envelope::kVxlan);
        plan.outer_source_ports = {5000, 5001, 5002};
    } else if (path == "ipv6") {
        plan.spec = spec_of(Family::kIpv6, Envelope::kNone);
    }
    return plan;
}

std::function<void(Frame&, const At&)> flip(std::size_t At::*base, std::size_t at, unsigned bits) {
    return [=](Frame& frame, const At& places) {
        frame[places.*base + at] ^= static_cast<std::uint8_t>(bits);
    };
}
std::function<void(Frame&, const At&)> flip(std::size_t at, unsigned bits) {
    return [=](Frame& frame, const At&) { frame[at] ^= static_cast<std::uint8_t>(bits); };
}

void add_to(Frame& frame, std::size_t at, int more) {
    const int word = frame[at] * 256 + frame[at + 1] + more;
    frame[at] = static_cast<std::uint8_t>(word >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(word);
}
// Makes the datagram longer or shorter, all lengths right.
void resize(Frame& frame, const At& at, int more) {
    add_to(frame, at.ip + 2, more);
    add_to(frame, at.transport + 4, more);
    frame.resize(frame.size() + static_cast<std::size_t>(more), 0x5a);
}

std::vector<Fault> faults() {
    const auto left = Sums::kLeft;
    const auto repaired = Sums::kRepaired;
    const auto name = frame::kDnsHeaderBytes;
    std::vector<Fault> all = {
        {"destination MAC", "dns", repaired, flip(5, 1), "eth.destination"},
        {"source MAC", "dns", repaired, flip(6, 0x40), "eth.source"},
        {"DSCP", "dns", repaired, flip(&At::ip, 1, 0x20), "ip.tos"},
        {"ECN", "dns", repaired, flip(&At::ip, 1, 1), "ip.tos"},
        {"IP id", "dns", repaired, flip(&At::ip, 5, 4), "ip.id"},
        {"DF", "dns", repaired, flip(&At::ip, 6, 0x40), "ip.fragment"},
        {"reserved flag", "dns", repaired, flip(&At::ip, 6, 0x80), "ip.fragment"},
        {"TTL", "dns", repaired, [](Frame& f, const At& at) { --f[at.ip + 8]; }, "ip.ttl"},
        {"source address", "dns", repaired, flip(&At::ip, 15, 8), "ip.source"},
        {"source network", "dns", repaired, flip(&At::ip, 12, 1), "ip.source"},
        {"destination address", "dns", repaired, flip(&At::ip, 19, 1), "ip.destination"},
        {"source port", "dns", repaired, flip(&At::transport, 1, 1), "udp.source_port"},
        {"destination port", "dns", repaired, flip(&At::transport, 3, 1), "udp.destination_port"},
        {"UDP checksum removed", "dns", left,
         [](Frame& f, const At& at) { f[at.transport + 6] = f[at.transport + 7] = 0; },
         "udp.checksum"},
        {"IP checksum", "dns", left, flip(&At::ip, 11, 1), "", Verdict::kDamaged},
        {"UDP checksum", "dns", left, flip(&At::transport, 7, 1), "", Verdict::kDamaged},
        {"ethertype", "dns", left, flip(12, 0x10), "eth.type"},
        {"DNS id", "dns", repaired, flip(&At::payload, 1, 2), "dns.id"},
        {"DNS flags", "dns", repaired, flip(&At::payload, 2, 1), "dns.header"},
        {"response bit", "dns", repaired, flip(&At::payload, 2, 0x80), "dns.header"},
        {"question count", "dns", repaired, flip(&At::payload, 5, 2), "dns.header"},
        {"number, last digit", "dns", repaired, flip(&At::payload, name + 9, 1), "dns.name"},
        {"number, first digit", "dns", repaired, flip(&At::payload, name + 2, 1), "dns.name"},
        {"number that is none", "dns", repaired, flip(&At::payload, name + 5, 0x40), "dns.name"},
        {"stream", "dns", repaired, flip(&At::payload, name + 11, 3), "dns.name"},
        {"time long before", "dns", repaired,
         [](Frame& f, const At& at) {
             std::fill_n(f.begin() + static_cast<std::ptrdiff_t>(at.payload) + name + 12, 8, '0');
         },
         "stamp.time"},
        {"time ahead", "dns", repaired,
         [](Frame& f, const At& at) { f[at.payload + name + 12] = '4'; }, "stamp.time"},
        {"suffix letter", "dns", repaired, flip(&At::payload, name + 28, 3), "dns.name"},
        {"case of the suffix", "dns", repaired, flip(&At::payload, name + 28, 0x20), "dns.name"},
        {"case of a label", "dns", repaired, flip(&At::payload, name + 1, 0x20), "dns.name"},
        {"type", "dns", repaired,
         [](Frame& f, const At&) { f[f.size() - 3] = f[f.size() - 3] == 1 ? 28 : 1; }, "dns.type"},
        {"another type", "dns", repaired, [](Frame& f, const At&) { f[f.size() - 3] = 16; },
         "dns.type"},
        {"class", "dns", repaired, [](Frame& f, const At&) { f[f.size() - 1] ^= 2; }, "payload"},
        {"trailer", "dns", left, [](Frame& f, const At&) { f.resize(f.size() + 4); },
         "frame.length"},
        {"one byte more", "dns", left, [](Frame& f, const At&) { f.push_back(7); },
         "frame.length"},
        {"datagram longer", "dns", repaired, [](Frame& f, const At& at) { resize(f, at, 6); },
         "frame.length"},
        {"datagram cut", "dns", repaired, [](Frame& f, const At& at) { resize(f, at, -6); },
         "frame.length"},
        {"frame cut", "dns", left, [](Frame& f, const At&) { f.resize(f.size() - 9); }, "",
         Verdict::kDamaged},
        {"words swapped", "dns", left,
         [](Frame& f, const At& at) {
             std::swap(f[at.payload + name + 26], f[at.payload + name + 28]);
         },
         "dns.name"},
        {"payload bit", "dns", left, flip(&At::payload, name + 30, 4), "", Verdict::kDamaged},
        {"all payload", "dns", repaired,
         [](Frame& f, const At& at) {
             std::fill(f.begin() + static_cast<std::ptrdiff_t>(at.payload), f.end(), 0x41);
         },
         "payload"},
        {"all payload, sums left", "dns", left,
         [](Frame& f, const At& at) {
             std::fill(f.begin() + static_cast<std::ptrdiff_t>(at.payload), f.end(), 0x41);
         },
         "", Verdict::kDamaged},
        {"tag added", "dns", left,
         [](Frame& f, const At&) {
             const std::uint8_t tag[] = {0x81, 0, 0, 5};
             f.insert(f.begin() + 12, std::begin(tag), std::end(tag));
         },
         "eth.vlan"},
        {"lost", "dns", left, {}, "", Verdict::kMissing},
        {"doubled", "dns", left, {}, "", Verdict::kTwice},
        {"held back by three", "dns", left, {}, "", Verdict::kReordered},
        {"member of a pair", "pairs", repaired,
         [](Frame& f, const At&) { f[f.size() - 3] = f[f.size() - 3] == 1 ? 28 : 1; }, "dns.type"},
        {"number of a pair's", "pairs", repaired, flip(&At::payload, name + 9, 1), "dns.name"},
        {"padding", "padded", repaired, [](Frame& f, const At&) { f.back() ^= 0x10; }, "payload"},
        {"OPT record", "padded", repaired, flip(&At::payload, name + 48, 1), "payload"},
        {"far padding", "long", repaired, flip(400, 0x80), "payload"},
        {"payload bit of 200 bytes", "udp", repaired, flip(150, 1), "payload"},
        {"number of UDP", "udp", repaired, flip(&At::payload, 7, 1), "stamp.number"},
        {"magic", "udp", repaired, flip(&At::payload, 0, 1), "stamp"},
        {"stream of UDP", "udp", repaired, flip(&At::payload, 2, 5), "stamp"},
        {"echo port", "udp", repaired, flip(&At::transport, 3, 2), "udp.destination_port"},
        {"time of UDP", "udp", repaired, flip(&At::payload, 10, 0x70), "stamp.time"},
        {"unused time bits", "udp", repaired, flip(&At::payload, 8, 1), "stamp.time"},
        {"bad UDP", "udp", left, flip(170, 1), "", Verdict::kDamaged},
        {"MSS", "tcp", repaired, flip(&At::transport, 23, 0x10), "tcp.options"},
        {"window", "tcp", repaired, flip(&At::transport, 15, 1), "tcp.window"},
        {"flags", "tcp", repaired, flip(&At::transport, 13, 0x40), "tcp.flags"},
        {"acknowledgement", "tcp", repaired, flip(&At::transport, 11, 1), "tcp.acknowledgement"},
        {"urgent", "tcp", repaired, flip(&At::transport, 19, 1), "tcp.urgent"},
        {"sequence number", "tcp", repaired, flip(&At::transport, 7, 1), "tcp.sequence"},
        {"sequence's stream", "tcp", repaired, flip(&At::transport, 4, 0x30), "tcp.sequence"},
        {"echoed timestamp", "tcp", repaired, flip(&At::transport, 35, 1), "tcp.options"},
        {"identifier", "icmp", repaired, flip(&At::transport, 5, 1), "icmp.rest"},
        {"echo's number", "icmp", repaired, flip(&At::transport, 7, 1), "icmp.rest"},
        {"code", "icmp", repaired, flip(&At::transport, 1, 1), "icmp.code"},
        {"bad ICMP", "icmp", left, flip(&At::transport, 3, 1), "", Verdict::kDamaged},
        {"PCP", "vlan", repaired, flip(14, 0x20), "eth.vlan1.control"},
        {"VID", "vlan", repaired, flip(15, 1), "eth.vlan1.control"},
        {"tag taken off", "vlan", left,
         [](Frame& f, const At&) { f.erase(f.begin() + 12, f.begin() + 16); }, "eth.vlan"},
        {"VNI", "vxlan", repaired, flip(&At::outer_transport, 14, 1), "tunnel.vni"},
        {"VXLAN's reserved byte", "vxlan", repaired, flip(&At::outer_transport, 15, 1),
         "tunnel.reserved2"},
        {"outer source port", "vxlan", repaired, flip(&At::outer_transport, 1, 1),
         "outer.udp.source_port"},
        {"outer TTL", "vxlan", repaired, flip(&At::outer, 8, 1), "outer.ip.ttl"},
        {"outer DSCP", "vxlan", repaired, flip(&At::outer, 1, 4), "outer.ip.tos"},
        {"outer source", "vxlan", repaired, flip(&At::outer, 15, 1), "outer.ip.source"},
        {"outer checksum removed", "vxlan", left,
         [](Frame& f, const At& at) {
             f[at.outer_transport + 6] = f[at.outer_transport + 7] = 0;
         },
         "outer.udp.checksum"},
        {"inner MAC", "vxlan", repaired, flip(&At::ethernet, 5, 1), "inner.eth.destination"},
        {"inner TTL", "vxlan", repaired, flip(&At::ip, 8, 1), "inner.ip.ttl"},
        {"inner name", "vxlan", repaired, flip(&At::payload, name + 28, 3), "dns.name"},
        {"inner checksum", "vxlan", left, flip(&At::transport, 7, 1), "", Verdict::kDamaged},
        {"traffic class", "ipv6", repaired, flip(&At::ip, 1, 0x40), "ip.class_and_flow"},
        {"flow label", "ipv6", repaired, flip(&At::ip, 3, 1), "ip.class_and_flow"},
        {"hop limit", "ipv6", repaired, flip(&At::ip, 7, 1), "ip.hop_limit"},
        {"IPv6 source", "ipv6", repaired, flip(&At::ip, 16, 1), "ip.source"}};
    return all;
}

// The middlebox: gives back what left, each 20th frame with the fault.
class Middlebox {
  public:
    Middlebox(std::uint64_t frames, const Fault* fault, std::function<void(Frame&)> always)
        : frames_(frames), fault_(fault), always_(std::move(always)), thread_([this] { run(); }) {}
    ~Middlebox() {
        over_ = true;
        thread_.join();
    }
    std::uint64_t planted() const { return planted_; }
    // Becomes true when the port has taken all that comes of the frames: the run need not guess
    // how long a thread without a CPU takes.
    const std::atomic<bool>& done() const { return done_; }

  private:
    void run() {
        while (!over_) {
            for (Frame frame : ends().end.left()) {
                pass(std::move(frame));
            }
            std::this_thread::sleep_for(100us);
            done_ = seen_ >= frames_ && ends().end.all_taken();
        }
    }
    void pass(Frame frame) {
        if (always_) {
            always_(frame);
        }
        const bool hit = ++seen_ % 20 == 13 && fault_ != nullptr;
        planted_ += hit ? 1 : 0;
        if (hit && fault_->verdict == Verdict::kReordered) {
            held_ = std::move(frame);
            behind_ = 3;
            return;
        }
        if (hit && fault_->change) {
            fault_->change(frame, At(frame));
            frame = fault_->sums == Sums::kRepaired ? sealed(std::move(frame)) : std::move(frame);
        }
        if (!hit || fault_->verdict != Verdict::kMissing) {
            ends().end.arrive(frame);
        }
        if (hit && fault_->verdict == Verdict::kTwice) {
            ends().end.arrive(frame);
        }
        if (behind_ > 0 && --behind_ == 0) {
            ends().end.arrive(held_);
        }
    }

    const std::uint64_t frames_;
    const Fault* fault_;
    std::function<void(Frame&)> always_;
    std::atomic<bool> over_ = false;
    std::atomic<bool> done_ = false;
    std::atomic<std::uint64_t> planted_ = 0;
    std::uint64_t seen_ = 0;
    Frame held_;
    int behind_ = 0;
    std::thread thread_;
};

struct Outcome {
    TrialReport report;
    std::uint64_t planted = 0;
    std::vector<WrongFrame> kept;
};

Outcome run(const SourcePlan& source, const Fault* fault, const std::string& allowed = "wire",
            std::function<void(Frame&)> always = {}, std::uint64_t frames = 400) {
    ends().end.left();
    LoadPlan plan{.source = source};
    plan.source.flow = {.flows = 300, .first_port = 10'000, .ports = 100};
    plan.intake.expects = IntakePlan::Expects::kFrames;
    plan.intake.allowed = parse_allowance(allowed).value();
    auto started = LoadRun::start(
        port::eal(), {.senders = {{0, &ends().port, 0}}, .receivers = {{0, &ends().port, 0}}},
        plan);
    BOOST_REQUIRE_MESSAGE(started, started.error().message);
    Middlebox middlebox(frames, fault, std::move(always));
    auto report = (*started)->run(
        {.frames_per_second = 20'000, .frames = frames, .drain = 30s, .settle = 10ms},
        middlebox.done());
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    return {*report, middlebox.planted(), (*started)->take_wrong_frames()};
}

std::uint64_t over(const TrialReport& report, std::uint64_t ClassTotals::*count) {
    std::uint64_t sum = 0;
    for (const ClassTotals& one : report.intake.classes) {
        sum += one.*count;
    }
    return sum;
}
std::uint64_t in_field(const TrialReport& report, const std::string& name) {
    for (const WrongField& one : report.intake.wrong_fields) {
        if (one.name == name) {
            return one.frames;
        }
    }
    return 0;
}
std::string fields(const Outcome& outcome) {
    std::string text;
    for (const WrongField& one : outcome.report.intake.wrong_fields) {
        text += one.frames > 0 ? fmt::format("{} {}, ", one.name, one.frames) : "";
    }
    return text + (outcome.kept.empty() ? "" : "\n" + outcome.kept.front().what);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(every_byte)

BOOST_AUTO_TEST_CASE(each_planted_fault_is_counted_as_often_as_it_was_planted_and_named) {
    const std::vector<Fault> all = faults();
    BOOST_TEST(all.size() >= 60u);
    for (const Fault& fault : all) {
        const Outcome found = run(plan_for(fault.path), &fault);
        const TrialReport& report = found.report;
        BOOST_TEST_CONTEXT(fault.path << ": " << fault.name << "; " << fields(found)) {
            const auto is = [&](Verdict verdict) {
                return fault.verdict == verdict ? found.planted : 0;
            };
            BOOST_TEST(found.planted == 20u);
            BOOST_TEST(report.sent == 400u);
            BOOST_TEST(report.wrong() == is(Verdict::kWrong));
            BOOST_TEST(report.damaged() == is(Verdict::kDamaged));
            BOOST_TEST(report.missing() == is(Verdict::kMissing));
            BOOST_TEST(over(report, &ClassTotals::duplicates) == is(Verdict::kTwice));
            BOOST_TEST(over(report, &ClassTotals::reordered) == is(Verdict::kReordered));
            BOOST_TEST(report.intake.received.balances());
            if (!fault.field.empty()) {
                BOOST_TEST(in_field(report, fault.field) == found.planted);
                BOOST_TEST(!found.kept.empty());
                BOOST_TEST((found.kept.empty() || !found.kept.front().what.empty()));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_handed_through_as_it_was_raises_no_alarm) {
    for (const char* path :
         {"dns", "pairs", "padded", "long", "udp", "tcp", "icmp", "vlan", "vxlan", "ipv6"}) {
        const Outcome found = run(plan_for(path), nullptr, "wire", {}, 4'000);
        BOOST_TEST_CONTEXT(path << "; " << fields(found)) {
            BOOST_TEST(found.report.unique() == 4'000u);
            BOOST_TEST(found.report.wrong() + found.report.damaged() + found.report.missing() ==
                       0u);
        }
    }
}

// A router with one fault beside its work.
BOOST_AUTO_TEST_CASE(what_a_router_changes_is_allowed_and_its_faults_are_not) {
    const auto route = [](Frame& frame) {
        const At at(frame);
        frame[0] = 0x0a;
        frame[6] = 0x0e;
        --frame[at.outer + (frame[at.outer] >> 4 == 6 ? 7 : 8)];
        frame = sealed(std::move(frame));
    };
    for (const char* path : {"dns", "pairs", "padded", "udp", "tcp", "vlan", "vxlan", "ipv6"}) {
        const Outcome clean = run(plan_for(path), nullptr, "router", route, 1'000);
        BOOST_TEST_CONTEXT(path << "; " << fields(clean)) {
            BOOST_TEST(clean.report.wrong() + clean.report.missing() == 0u);
        }
        const Outcome wire = run(plan_for(path), nullptr, "wire", route);
        BOOST_TEST(wire.report.wrong() == 400u);
    }
    const Fault twice{"TTL twice", "dns", Sums::kRepaired,
                      [](Frame& f, const At& at) { --f[at.ip + 8]; }, "ip.ttl"};
    const Fault dscp{"DSCP", "dns", Sums::kRepaired, flip(&At::ip, 1, 0x20), "ip.tos"};
    const Fault payload{"padding", "padded", Sums::kRepaired,
                        [](Frame& f, const At&) { f.back() ^= 0x10; }, "payload"};
    for (const Fault& fault : {twice, dscp, payload}) {
        const Outcome found = run(plan_for(fault.path), &fault, "router", route);
        BOOST_TEST_CONTEXT(fault.name << "; " << fields(found)) {
            BOOST_TEST(found.report.wrong() == found.planted);
            BOOST_TEST(in_field(found.report, fault.field) == found.planted);
        }
        BOOST_TEST(run(plan_for(fault.path), &fault, "router,ttl=2,dscp", route).report.wrong() >
                   0u);
    }
}

BOOST_AUTO_TEST_CASE(addresses_and_ports_that_a_nat_changes_are_followed_by_the_number) {
    const auto translate = [](Frame& frame) {
        const At at(frame);
        --frame[at.ip + 8];
        frame[at.ip + 12] = 10;
        frame[at.ip + 15] = 1;
        frame[at.transport] ^= 0x40;
        frame = sealed(std::move(frame));
    };
    for (const char* path : {"dns", "udp", "tcp"}) {
        const Outcome found = run(plan_for(path), nullptr, "nat", translate, 1'000);
        BOOST_TEST_CONTEXT(path << "; " << fields(found)) {
            BOOST_TEST(found.report.unique() == 1'000u);
            BOOST_TEST(found.report.wrong() == 0u);
        }
        BOOST_TEST(run(plan_for(path), nullptr, "router", translate).report.wrong() == 400u);
    }
}

BOOST_AUTO_TEST_CASE(what_may_change_is_typed_by_words) {
    BOOST_TEST(text(parse_allowance("wire").value()) == "nothing");
    BOOST_TEST(text(parse_allowance("router,dscp").value()) == "mac,ttl,dscp");
    BOOST_TEST(parse_allowance("ttl=3").value().hops == 3);
    for (const char* bad : {"", "router,", "ttl=0", "ttl=300", "ttl=", "TTL", "nothing"}) {
        BOOST_TEST(!parse_allowance(bad), bad);
    }
}

BOOST_AUTO_TEST_SUITE_END()
