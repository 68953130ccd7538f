#define BOOST_TEST_MODULE kubernetes
#include "harness/kubernetes/manifest.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "harness/process/program.h"

using namespace pathproof;
using kubernetes::fill_in;
using kubernetes::ManifestOptions;

namespace {

process::ProgramOutput k8s(const std::string& words) {
    const auto ran = process::run_program(
        {"sh", "-c", std::string("exec ") + std::getenv("PATHPROOF") + " k8s " + words});
    BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
    return *ran;
}

std::string content(const std::string& name) {
    std::ifstream file(MANIFESTS "/" + name + ".yaml");
    BOOST_REQUIRE_MESSAGE(file, name);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t count(const std::string& text, const std::string& words) {
    std::size_t found = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_program_prints_the_files_of_the_tree) {
    std::string all;
    for (const char* name :
         {"namespace", "jobs", "exporter", "servicemonitor", "alerts", "dashboard"}) {
        all += content(name);
    }
    const auto printed = k8s("manifest --client-node node-a --server-node node-b");
    BOOST_TEST(printed.exit_status == 0, printed.err);
    BOOST_TEST((printed.out == all));
    BOOST_TEST((k8s("manifest --only exporter,servicemonitor").out ==
                content("exporter") + content("servicemonitor")));
    BOOST_TEST((k8s("manifest --client-node node-a --server-node node-b --only preflight").out ==
                content("preflight")));
}

BOOST_AUTO_TEST_CASE(each_option_is_in_every_place_that_it_is_meant_for) {
    const std::string was = k8s("manifest --client-node node-a --server-node node-b").out;
    const std::string now = k8s("manifest --client-node n1.example --server-node n2.example "
                                "--image r.example:5000/p@sha256:00 --namespace nets")
                                .out;
    BOOST_TEST(count(now, "n1.example") == count(was, "node-a"));
    BOOST_TEST(count(now, "n2.example") == count(was, "node-b"));
    BOOST_TEST(count(now, "image: \"r.example:5000/p@sha256:00\"  # --image") ==
               count(was, "image: "));
    BOOST_TEST(count(now, "namespace: \"nets\"") == count(was, "namespace: "));
    BOOST_TEST(count(now, "\"pathproof\"  #") == 0U);
    // Text that no option sets is as it was.
    BOOST_TEST(count(now, "\n") == count(was, "\n"));
    BOOST_TEST(count(now, "app.kubernetes.io/name: pathproof\n") ==
               count(was, "app.kubernetes.io/name: pathproof\n"));
}

BOOST_AUTO_TEST_CASE(only_allow_drops_gives_what_traces_them) {
    const std::string without = k8s("manifest --only exporter").out;
    const std::string with = k8s("manifest --only exporter --allow drops").out;
    BOOST_TEST(count(without, "\n                # - BPF") == 1U);
    BOOST_TEST(count(without, "            - --no-drops") == 1U);
    BOOST_TEST(count(with, "\n                - BPF\n                - PERFMON\n") == 1U);
    BOOST_TEST(count(with,
                     "\n            - name: tracefs\n              mountPath: "
                     "/sys/kernel/tracing\n              readOnly: true\n") == 1U);
    BOOST_TEST(count(with, "--no-drops") == 0U);
    BOOST_TEST(count(with, "--allow") == 0U);
}

BOOST_AUTO_TEST_CASE(lines_without_a_mark_stay) {
    const ManifestOptions options{.values = {{"--image", "b"}}, .allow_drops = true};
    for (const char* line : {"image: \"a\"\n", "x: \"a\"  # of --image not\n", "x: a  # --image\n",
                             "x: \"a  # --image\n", "# --allow drops\n", "\n"}) {
        BOOST_TEST(fill_in(line, options) == line);
    }
    BOOST_TEST(fill_in("x: [\"a\", \"c\"]  # --image\n", options) ==
               "x: [\"b\", \"c\"]  # --image\n");
}

BOOST_AUTO_TEST_CASE(bad_input_is_answered_with_a_sentence) {
    struct Case {
        const char* words;
        const char* named;
    };
    for (const Case& wrong : {
             Case{"manifest", "--client-node"},
             Case{"manifest --client-node node-a", "--server-node"},
             Case{"manifest --only jobs", "--client-node"},
             Case{"manifest --only preflight", "--client-node"},
             Case{"preflight node-a", "server-node"},
             Case{"preflight A b", "--client-node 'A'"},
             Case{"preflight a b --kubectl /nonexistent/kubectl", "/nonexistent/kubectl"},
             Case{"manifest --only job", "--only 'job'"},
             Case{"manifest --client-node A --server-node b", "--client-node 'A'"},
             Case{"manifest --client-node a..b --server-node b", "--client-node 'a..b'"},
             Case{"manifest --client-node '' --server-node b", "'--client-node'"},
             Case{"manifest --client-node 'a\"' --server-node b", "--client-node 'a\"'"},
             Case{"manifest --only exporter --namespace a.b", "--namespace 'a.b'"},
             Case{"manifest --only exporter --namespace -a", "--namespace '-a'"},
             Case{"manifest --only exporter --image 'a b'", "--image 'a b'"},
             Case{"manifest --only exporter --allow all", "--allow 'all'"},
             Case{"client '$(PATHPROOF_SERVER_SERVICE_HOST)'", "$(PATHPROOF_SERVER_SERVICE_HOST)"},
             Case{"client 192.0.2.1 --name a..b", "a..b"},
             Case{"server here", "here"},
         }) {
        const auto answer = k8s(wrong.words);
        BOOST_TEST_CONTEXT(wrong.words << "\n" << answer.err) {
            BOOST_TEST(answer.exit_status == 2);
            BOOST_TEST(answer.out == "");
            BOOST_TEST(answer.err.find(wrong.named) != std::string::npos);
        }
    }
}
