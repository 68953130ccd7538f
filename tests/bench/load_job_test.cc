#include "harness/bench/load/load_job.h"

#include <boost/test/unit_test.hpp>

#include "harness/bench/load/load_plans.h"
#include "harness/bench/load/verify_worker.h"
#include "harness/bench/veth/device_counters.h"
#include "harness/bench/veth/query_file.h"

using namespace pathproof;
using namespace pathproof::bench;

namespace {

LoadJob unusual_job() {
    LoadJob job = load_job();
    job.vdev = "net_af_xdp0,iface=v0";
    job.control_cpu = 2;
    job.cpus = {3, 4};
    job.back = LoadJob::Back::kAnswers;
    job.envelope = LoadJob::Envelope::kVxlan;
    job.traffic = LoadJob::Traffic::kUdp;
    job.checksum = LoadJob::UdpChecksum::kZero;
    job.flows = 10'000'000;
    job.frame_bytes = 9014;
    job.seconds = 0.25;
    job.rate = LoadJob::Rate::kClosedLoop;
    job.outstanding = 77;
    return job;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load_job_text)

BOOST_AUTO_TEST_CASE(a_job_survives_the_way_to_its_process) {
    for (const LoadJob& job : {load_job(), unusual_job()}) {
        const auto read = parse_load_job(to_text(job));
        BOOST_REQUIRE(read);
        BOOST_TEST((*read == job), to_text(*read));
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_job_is_refused) {
    BOOST_TEST(!parse_load_job(""));
    BOOST_TEST(!parse_load_job("[]"));
    BOOST_TEST(!parse_load_job("{}"));  // no addresses
    LoadJob nowhere = load_job();
    nowhere.cpus.clear();
    BOOST_TEST(!parse_load_job(to_text(nowhere)));
    LoadJob never = load_job();
    never.seconds = 0;
    BOOST_TEST(!parse_load_job(to_text(never)));
}

BOOST_AUTO_TEST_CASE(outcomes_survive_the_way_back) {
    const LoadOutcome outcome{.sent = 5,
                              .unique = 4,
                              .missing = 1,
                              .bad_checksums = 2,
                              .cycles_per_frame = 33.5,
                              .frames_per_second = 1e7,
                              .seconds = 1.5,
                              .frame_bytes = 98,
                              .tsc_mhz = 2700,
                              .loss_bound = 1e-4,
                              .objections = {"an lcore lost its CPU"}};
    const auto read = parse_load_outcome(to_text(outcome));
    BOOST_REQUIRE(read);
    BOOST_TEST((*read == outcome));
    const VerifyOutcome verified{.loop = 100, .judged = 135.5, .frames = 9, .frame_bytes = 148};
    const auto read_too = parse_verify_outcome(to_text(verified));
    BOOST_REQUIRE(read_too);
    BOOST_TEST((*read_too == verified));
    BOOST_TEST(read_too->judging() == 35.5);
    BOOST_TEST(!parse_load_outcome("pathproof: EAL: refused"));
    BOOST_TEST(!parse_verify_outcome("{}"));
}

BOOST_AUTO_TEST_CASE(a_plan_has_what_the_job_says) {
    const LoadJob job = unusual_job();
    const load::SourcePlan source = source_plan_of(job);
    BOOST_TEST((source.spec.packet.transport_checksum == frame::ChecksumMode::kZero));
    BOOST_TEST(source.spec.tunnel.has_value());
    BOOST_TEST(source.outer_source_ports.size() > 1U);
    BOOST_TEST((source.mix.front().traffic == frame::TrafficClass::kUdp));
    BOOST_TEST(source.mix.front().frame_bytes == 9014 + 50);  // the size is the inner frame's
    // The plan has as many 5-tuples as the job has flows.
    BOOST_TEST(source.flow.flows == 10'000'000U);
    BOOST_TEST(source.flow.first_port + source.flow.ports <= 65'536);
    const port::PortConfig port = port_config_of(job);
    BOOST_TEST(port.device == "net_af_xdp0");
    BOOST_TEST(port.tx_queues == 2);
    BOOST_TEST(port.mtu == 9000);
    BOOST_TEST(port.mbuf_bytes >= 9014 + 128);
    BOOST_TEST(intake_plan_of(job).streams == 2U);
    BOOST_TEST((intake_plan_of(job).expects == load::IntakePlan::Expects::kAnswers));
}

BOOST_AUTO_TEST_CASE(the_peers_queries_are_as_long_as_ours) {
    const VethPair pair{.client = {.netns = {},
                                   .device = "c",
                                   .mac = *frame::parse_mac("02:00:00:00:00:01"),
                                   .address = *frame::parse_ip("198.18.64.1")},
                        .server = {.netns = {},
                                   .device = "s",
                                   .mac = *frame::parse_mac("02:00:00:00:00:02"),
                                   .address = *frame::parse_ip("198.18.64.2")}};
    const auto frames = query_frames(pair, 4, LoadJob::UdpChecksum::kValid);
    BOOST_REQUIRE(frames);
    BOOST_TEST(frames->size() == 4U);
    BOOST_TEST(frames->front() != frames->back());
    // Ethernet, IPv4, UDP and DNS headers; two stamped labels, pathproof.test, type and class.
    const std::size_t ours = 14 + 20 + 8 + 12 + frame::kDnsStampBytes +
                             std::string("\011pathproof\004test").size() + 1 + 4;
    BOOST_TEST(frames->front().size() == ours);
    BOOST_TEST(query_lines(2) ==
               "q00000000.a000000000000.pathproof.test A\n"
               "q00000001.a000000000000.pathproof.test AAAA\n");
}

BOOST_AUTO_TEST_CASE(what_a_device_received_is_read_from_the_kernels_table) {
    const std::string table =
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
        "    lo:       1       2    0    0    0     0          0         0        3       4    0\n"
        "sink-s: 351621606 4078516    0    0    0     0          0         0     1560      21    "
        "0\n";
    const auto received = parse_received(table, "sink-s");
    BOOST_REQUIRE(received);
    BOOST_TEST(received->frames == 4078516U);
    BOOST_TEST(received->bytes == 351621606U);
    BOOST_TEST(!parse_received(table, "sink"));
}

BOOST_AUTO_TEST_SUITE_END()
