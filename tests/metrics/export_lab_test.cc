#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "harness/process/program.h"
#include "tests/drops/senders.h"
#include "tests/metrics/strict_parser.h"
#include "tests/netfilter/lab_namespace.h"

using namespace pathproof;
using metrics::Dialect;
using metrics::test::parsed;
using netfilter::lab::Namespace;

namespace {

constexpr const char* kAddress = "198.18.51.1";
constexpr std::uint16_t kRefusedPort = 5353;

process::ProgramOutput inspect(std::vector<std::string> words) {
    words.insert(words.begin(), {std::getenv("PATHPROOF"), "inspect"});
    const auto ran = process::run_program(words);
    BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
    return *ran;
}

std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool has(const std::string& lines, const std::string& line) {
    return ("\n" + lines).find("\n" + line + "\n") != std::string::npos;
}

// `pathproof inspect export` of a namespace to a file, running.
class Export {
  public:
    Export(const std::string& netns, const std::string& format)
        : path_("export-" + std::to_string(getpid()) + "-" + format + ".prom"),
          thread_([this, netns, format] {
              output_ = process::run_program({std::getenv("PATHPROOF"), "inspect", "export",
                                              "--netns", netns, "--file", path_, "--format", format,
                                              "--interval", "0.2", "--duration", "2.5"});
          }) {
        // The duration counts from before the first file on.
        for (int waited_ms = 0; content(path_).empty() && waited_ms < 10'000; waited_ms += 20) {
            usleep(20'000);
        }
        BOOST_REQUIRE(!content(path_).empty());
    }
    ~Export() {
        if (thread_.joinable()) {
            thread_.join();
        }
        std::remove(path_.c_str());
    }

    // The last file.
    std::string finish() {
        thread_.join();
        BOOST_REQUIRE_MESSAGE(output_, output_.error().message);
        BOOST_TEST(output_->exit_status == 0, output_->err);
        return content(path_);
    }

  private:
    const std::string path_;
    Result<process::ProgramOutput> output_;
    std::thread thread_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_file_has_the_figures_of_real_traffic) {
    const Namespace place("export");
    place.run(fmt::format("ip address add {}/32 dev lo", kAddress));
    place.run(fmt::format("iptables -A INPUT -p udp --dport {} -j DROP", kRefusedPort));
    // A namespace tracks flows once a rule asks about them.
    place.run("iptables -A INPUT -m conntrack --ctstate INVALID -j DROP");
    Export open(place.name(), "openmetrics");
    Export plain(place.name(), "prometheus");
    drops::lab::send_udp(place.name(), kAddress, kRefusedPort, 40);
    drops::lab::send_udp(place.name(), kAddress, kRefusedPort + 1, 1);
    const std::string netns = "{netns=" + place.name();
    for (auto [file, dialect] :
         {std::pair{&open, Dialect::kOpenMetrics}, std::pair{&plain, Dialect::kPrometheus}}) {
        const std::string lines = parsed(file->finish(), dialect);
        for (const std::string& line :
             {"pathproof_drops counter pathproof_drops_total " + netns +
                  ",reason=NETFILTER_DROP,scope=namespace} 40",
              "pathproof_drops counter pathproof_drops_total " + netns +
                  ",reason=NO_SOCKET,scope=namespace} 1",
              "pathproof_conntrack_events counter pathproof_conntrack_events_total " + netns +
                  ",kind=new} 2",
              "pathproof_conntrack_entries gauge pathproof_conntrack_entries " + netns + "} 2"}) {
            BOOST_TEST(has(lines, line), line << " is not in\n" << lines);
        }
    }
}

BOOST_AUTO_TEST_CASE(bad_input_is_answered_with_a_sentence) {
    const Namespace place("badinput");
    struct Case {
        std::vector<std::string> words;
        const char* named;
    };
    for (const Case& wrong : {
             Case{{"export", "--netns", "pp-nowhere"}, "pp-nowhere"},
             Case{{"export", "--netns", place.name(), "--netns", place.name()}, "more than once"},
             Case{{"export", "--netns", place.name(), "--listen", "here"}, "--listen 'here'"},
             Case{{"export", "--netns", place.name(), "--file", "/nonexistent/x.prom"},
                  "/nonexistent/x.prom"},
             Case{{"export", "--netns", place.name(), "--format", "xml", "--file", "x.prom"},
                  "--format 'xml'"},
             Case{{"export", "--netns", place.name(), "--cni-cache", "/nonexistent/results"},
                  "--cni-cache: the cache of CNI results /nonexistent/results: No such file"},
             Case{{"export", "--netns", place.name(), "--cni-cache", "/usr"},
                  "--cni-cache: the cache of CNI results /usr: it has a folder"},
             Case{{"drops", "--netns", "pp-nowhere"}, "pp-nowhere"},
         }) {
        const auto answer = inspect(wrong.words);
        BOOST_TEST(answer.exit_status == 2, answer.err);
        BOOST_TEST(answer.out == "");
        BOOST_TEST(answer.err.find(wrong.named) != std::string::npos, answer.err);
    }
}

BOOST_AUTO_TEST_CASE(the_catalogue_is_printed) {
    const auto help = inspect({"export", "--help-metrics"});
    BOOST_TEST(help.exit_status == 0);
    BOOST_TEST(help.out.find("pathproof_conntrack_COUNTER_total{netns, cpu}  counter\n") !=
               std::string::npos);
}
