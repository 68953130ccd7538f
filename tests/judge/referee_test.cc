// An outside referee: what tshark says of saved frames of every kind, healthy and with one checksum
// spoiled, is what both judges say.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "tests/judge/every_kind.h"
#include "tests/judge/judged.h"

BOOST_AUTO_TEST_SUITE(referee)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();
constexpr std::size_t kFields = 7;

void put_little(Octets& to, std::uint32_t value) {
    for (int i = 0; i < 4; ++i) {
        to.push_back(static_cast<std::uint8_t>(value >> 8 * i));
    }
}

// The classic format: magic, version 2.4, Ethernet.
void save(const std::string& path, const std::vector<Octets>& frames) {
    Octets file;
    for (const std::uint32_t word : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 65'535u, 1u}) {
        put_little(file, word);
    }
    for (const Octets& frame : frames) {
        const auto size = static_cast<std::uint32_t>(frame.size());
        for (const std::uint32_t word : {0u, 0u, size, size}) {
            put_little(file, word);
        }
        raw::append(file, frame);
    }
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
}

// One line a frame: seven columns of check states, commas within: 0 bad, 1 good, 2 unverified, 3
// not present, 4 illegal.
std::vector<std::string> tshark(const std::string& path) {
    const std::string command =
        "tshark -n -r " + path +
        " -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -o tcp.check_checksum:TRUE"
        " -o udplite.check_checksum:TRUE -o udplite.ignore_checksum_coverage:FALSE"
        " -d udp.port==8472,vxlan -o sctp.checksum:CRC-32c"
        " -T fields -E separator=/s -E quote=d -e ip.checksum.status"
        " -e udp.checksum.status -e tcp.checksum.status -e icmp.checksum.status"
        " -e icmpv6.checksum.status -e sctp.checksum.status -e gre.checksum.status 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::vector<std::string> lines;
    char line[512];
    while (pipe && std::fgets(line, sizeof line, pipe.get()) != nullptr) {
        lines.emplace_back(line);
    }
    return lines;
}

struct Count {
    int bad = 0;
    int good = 0;
    bool operator==(const Count&) const = default;
};
using Counts = std::array<Count, kFields>;

// Illegal is a UDP field of 0 over IPv6, which tshark says of tunnels, too: no count of either.
Counts counted(const std::string& line) {
    Counts counts;
    std::size_t column = 0;
    for (const char each : line) {
        column += each == ' ' ? 1 : 0;
        if (column < kFields) {
            counts[column].bad += each == '0' ? 1 : 0;
            counts[column].good += each == '1' ? 1 : 0;
        }
    }
    return counts;
}

std::size_t column_of(Protocol protocol) {
    switch (protocol) {
        case Protocol::kIpv4: return 0;
        case Protocol::kUdp:
        case Protocol::kUdpLite: return 1;
        case Protocol::kTcp: return 2;
        case Protocol::kIcmp: return 3;
        case Protocol::kIcmpv6: return 4;
        case Protocol::kSctp: return 5;
        case Protocol::kGre: break;
    }
    return 6;
}

Counts counted(const FrameVerdict& verdict) {
    Counts counts;
    for (const ChecksumFinding& finding : verdict.all()) {
        Count& count = counts[column_of(finding.layer.protocol)];
        count.bad += finding.state == ChecksumState::kBad ? 1 : 0;
        count.good += finding.state == ChecksumState::kGood ? 1 : 0;
    }
    return counts;
}

struct TemporaryFile {
    TemporaryFile() {
        const int file = mkstemp(path.data());
        BOOST_REQUIRE(file >= 0);
        close(file);
    }
    ~TemporaryFile() { std::remove(path.c_str()); }
    std::string path =
        std::string(std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp") +
        "/pathproof-referee-XXXXXX";
};

}  // namespace

BOOST_AUTO_TEST_CASE(tshark_says_of_every_saved_frame_what_both_judges_say) {
    if (std::system("tshark --version > /dev/null 2>&1") != 0) {
        BOOST_TEST_MESSAGE("skipped: tshark is not installed (scripts/packages has it)");
        return;
    }
    raw::Random random(101);
    std::vector<Octets> frames;
    for (int i = 0; i < 2'000; ++i) {
        Octets frame = frame_of(any_kind(random), random);
        const FrameVerdict verdict = verify_slowly(frame, kTunnels);
        const ChecksumFinding& target = verdict.findings[random.below(verdict.count)];
        if (i % 2 == 0 && target.state == ChecksumState::kGood) {
            frame[target.field_offset + 1u] ^= 0x24;
        }
        frames.push_back(std::move(frame));
    }
    const TemporaryFile file;
    save(file.path, frames);
    const std::vector<std::string> lines = tshark(file.path);
    BOOST_REQUIRE_EQUAL(lines.size(), frames.size());
    Counts total;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const FrameVerdict fast = verify(frames[i], kTunnels);
        BOOST_REQUIRE_EQUAL(judged::text(fast), judged::text(verify_slowly(frames[i], kTunnels)));
        const Counts ours = counted(fast);
        const Counts theirs = counted(lines[i]);
        BOOST_TEST((ours == theirs),
                   "frame " << i << ": " << judged::text(fast) << " - " << lines[i]);
        for (std::size_t n = 0; n < kFields; ++n) {
            total[n].bad += theirs[n].bad;
            total[n].good += theirs[n].good;
        }
    }
    for (std::size_t n = 0; n < kFields; ++n) {  // nothing agreed because nothing was looked at
        BOOST_TEST(total[n].bad > 3, "column " << n);
        BOOST_TEST(total[n].good > 30, "column " << n);
    }
}

BOOST_AUTO_TEST_SUITE_END()
