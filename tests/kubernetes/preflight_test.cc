#include "harness/kubernetes/preflight.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/kubernetes/cluster.h"
#include "harness/process/program.h"

using namespace pathproof;
using namespace pathproof::kubernetes;
using Kind = PreflightVerdict::Kind;

namespace {

PreflightFigures right() {
    PreflightFigures figures{.with_checksum = {.sent = 20, .answered = 20},
                             .without_checksum = {.sent = 20, .answered = 20},
                             .transfer = agent::ProbeResult{.ok = true, .received = 1'000'000},
                             .mtu = 1450,
                             .whole = {.sent = 5, .answered = 5},
                             .fragments = {.sent = 5, .answered = 5}};
    figures.pairs.asked_for = figures.pairs.sent = figures.pairs.both = 300;
    return figures;
}

struct Case {
    const char* what;
    void (*change)(PreflightFigures&);
    Kind kind;
    std::vector<std::string> wrong;
    const char* says;
};

const Case kCases[] = {
    {"all right", [](PreflightFigures&) {}, Kind::kRight, {}, "packets of 1450 bytes with DF"},
    {"nothing",
     [](PreflightFigures& figures) { figures = {}; },
     Kind::kNothingCame,
     {},
     "nothing came back"},
    // Datagrams without a checksum are the control.
    {"only those without a checksum come through",
     [](PreflightFigures& figures) {
         figures.with_checksum.answered = 0;
         figures.transfer = agent::ProbeResult{.outcome = "connect timed out"};
         figures.whole.answered = figures.fragments.answered = 0;
     },
     Kind::kWrong,
     {"checksums"},
     "20 of 20 without one; TCP: connect timed out"},
    {"answers were thrown away here",
     [](PreflightFigures& figures) {
         figures.transfer = agent::ProbeResult{.outcome = "no progress"};
         figures.wrong_checksums = 4;
     },
     Kind::kWrong,
     {"checksums"},
     "4 packets thrown away here"},
    // Loss of both kinds is no matter of checksums.
    {"half is lost",
     [](PreflightFigures& figures) {
         figures.with_checksum.answered = figures.without_checksum.answered = 9;
     },
     Kind::kWrong,
     {"loss"},
     "9 of 20"},
    {"a smaller MTU on the way",
     [](PreflightFigures& figures) {
         figures.whole.answered = 0;
         figures.largest = 1400;
     },
     Kind::kWrong,
     {"mtu"},
     "the largest that does has 1400"},
    {"fragments are dropped",
     [](PreflightFigures& figures) { figures.fragments.answered = 0; },
     Kind::kWrong,
     {"fragments"},
     "0 of 5 datagrams of 4000 bytes"},
    {"pairs lose an answer",
     [](PreflightFigures& figures) { figures.pairs.failed.resize(3); },
     Kind::kWrong,
     {"dns-pairs"},
     "3 of 300 lost an answer"},
    {"not all pairs were sent",
     [](PreflightFigures& figures) { figures.pairs.sent = 10; },
     Kind::kNothingCame,
     {},
     "10 of 300"},
};

// A folder with a kubectl that has run the Jobs already, and notes what it was asked.
class FakeCluster {
  public:
    FakeCluster(const std::string& pod, const std::string& node, const std::string& condition) {
        char name[] = "/tmp/pathproof-kubectl-XXXXXX";
        BOOST_REQUIRE(mkdtemp(name) != nullptr);
        path_ = name;
        std::ofstream(path_ + "/pathproof-preflight-pod") << pod << "\n";
        std::ofstream(path_ + "/pathproof-preflight-node") << node << "\n";
        std::ofstream(kubectl())
            << "#!/bin/sh\necho \"$@\" >> " << path_ << "/asked\ncase \"$*\" in\n"
            << "*apply*) cat > " << path_ << "/applied ;;\n*delete*) cat > " << path_
            << "/deleted ;;\n*get*) echo '{\"status\":{\"conditions\":[{\"type\":\"" << condition
            << "\",\"status\":\"True\"}]}}' ;;\n*logs*) for last in \"$@\"; do :; done; echo "
            << "'pathproof: a line of its own'; cat " << path_ << "/${last#job/} ;;\nesac\n";
        BOOST_REQUIRE(chmod(kubectl().c_str(), 0755) == 0);
    }
    ~FakeCluster() { std::filesystem::remove_all(path_); }

    std::string kubectl() const { return path_ + "/kubectl"; }
    std::string content(const char* name) const {
        std::ifstream file(path_ + "/" + name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    process::ProgramOutput ask(const std::string& words) const {
        const auto ran = process::run_program({"sh", "-c",
                                               std::string("exec ") + std::getenv("PATHPROOF") +
                                                   " k8s preflight node-a node-b --kubectl " +
                                                   kubectl() + " " + words});
        BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
        return *ran;
    }

  private:
    std::string path_;
};

constexpr const char* kRight = R"({"preflight":"right: all","exit_code":0})";
constexpr const char* kWrong = R"({"preflight":"WRONG: mtu","exit_code":1})";
constexpr const char* kNothing = R"({"preflight":"nothing came back","exit_code":3})";

}  // namespace

BOOST_AUTO_TEST_CASE(each_figure_has_its_word) {
    for (const Case& each : kCases) {
        BOOST_TEST_CONTEXT(each.what) {
            PreflightFigures figures = right();
            each.change(figures);
            const PreflightVerdict verdict = judge(figures);
            BOOST_TEST((verdict.kind == each.kind));
            BOOST_TEST(verdict.wrong == each.wrong, boost::test_tools::per_element());
            BOOST_TEST(verdict.line.find(each.says) != std::string::npos, verdict.line);
            BOOST_TEST(verdict.line.find('\n') == std::string::npos);
        }
    }
}

BOOST_AUTO_TEST_CASE(datagrams_come_back_as_they_were) {
    const auto server = EchoServer::start({*frame::parse_ip("127.0.0.1"), 0});
    BOOST_REQUIRE_MESSAGE(server, server.error().message);
    const auto tried = [&](const EchoForm& form) {
        const auto figures = echo((*server)->endpoint(), form, 3, std::chrono::milliseconds(2000));
        BOOST_REQUIRE_MESSAGE(figures, figures.error().message);
        return *figures;
    };
    BOOST_TEST(tried({}).all());
    BOOST_TEST(tried({.no_checksum = true}).all());
    BOOST_TEST(tried({.bytes = 1400, .df = true}).all());
    BOOST_TEST(tried({.bytes = 60'000}).all());
    const auto nobody =
        echo({*frame::parse_ip("127.0.0.1"), 9}, {}, 2, std::chrono::milliseconds(50));
    BOOST_REQUIRE_MESSAGE(nobody, nobody.error().message);
    BOOST_TEST(nobody->none());
    BOOST_TEST(nobody->trouble == "connection refused");
}

BOOST_AUTO_TEST_CASE(one_line_and_an_exit_code_for_a_pair_of_nodes) {
    const FakeCluster good(kRight, kRight, "Complete");
    const auto right = good.ask("");
    BOOST_TEST(right.exit_status == 0, right.err);
    BOOST_TEST(right.out == "node-a > node-b: from a pod: right: all; from a node: right: all\n");
    BOOST_TEST(good.content("applied").find("kind: Namespace") != std::string::npos);
    BOOST_TEST(good.content("applied").find("- \"node-b\"  # --server-node") != std::string::npos);
    // The namespace may hold the exporter: it stays.
    BOOST_TEST(good.content("deleted").find("kind: Namespace") == std::string::npos);
    BOOST_TEST(good.content("deleted").find("name: pathproof-preflight-node") != std::string::npos);

    BOOST_TEST(FakeCluster(kRight, kWrong, "Failed").ask("").exit_status == 1);
    BOOST_TEST(FakeCluster(kNothing, kRight, "Failed").ask("").exit_status == 3);
    BOOST_TEST(FakeCluster("rubbish", kRight, "Failed").ask("").exit_status == 3);
    const auto late = FakeCluster(kRight, kRight, "Suspended").ask("--wait 1");
    BOOST_TEST(late.exit_status == 3);
    BOOST_TEST(late.out.find("was not done in 1 s") != std::string::npos, late.out);
}

BOOST_AUTO_TEST_CASE(what_kubectl_refuses_is_said_with_its_words) {
    const FakeCluster cluster(kRight, kRight, "Complete");
    std::ofstream(cluster.kubectl()) << "#!/bin/sh\necho 'forbidden: jobs.batch' >&2\nexit 1\n";
    const auto refused = cluster.ask("");
    BOOST_TEST(refused.exit_status != 0);
    BOOST_TEST(refused.out == "");
    BOOST_TEST(refused.err.find("forbidden: jobs.batch") != std::string::npos, refused.err);
}
