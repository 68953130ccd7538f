// Answers that an agent of another host may give: none is trusted.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/agent/device_info.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/path_events.h"
#include "harness/agent/probes.h"
#include "harness/agent/program_copy.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/stats.h"

using namespace pathproof;
using namespace pathproof::agent;

namespace {

Result<std::unique_ptr<Client>> start(const std::vector<std::string>& argv) {
    return Client::start_behind(argv, "", "the agent", std::chrono::seconds(30));
}

// Greets as an agent does, and answers `words` to all else.
std::unique_ptr<Client> agent_that_says(const std::string& words) {
    const std::string hello = R"({"agent":"pathproof","version":"9","build":"b","kernel":"k"})";
    auto started =
        start({"sh", "-c",
               "i=1; read a; printf '{\"id\":1,\"ok\":%s}\\n' \"$0\"; "
               "while read a; do i=$((i+1)); printf '{\"id\":%d,\"ok\":%s}\\n' $i \"$1\"; done",
               hello, words});
    BOOST_REQUIRE_MESSAGE(started, started.error().message);
    return std::move(*started);
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_that_do_not_fit_are_errors) {
    for (const std::string words :
         {"null", "-1", "\"<script>\"", "[[]]", "[null]", "[{\"name\":7}]",
          "{\"name\":\"d0\",\"mac\":\"x\"}", "{\"events\":[{}],\"overruns\":-1}",
          "{\"drops\":{\"scope\":2}}",
          "{\"drops\":{\"scope\":0,\"scope_reason\":\"\",\"lost\":0,\"counts\":[[]]}}"}) {
        const auto client = agent_that_says(words);
        BOOST_TEST(!client->features("d0"), words);
        BOOST_TEST(!client->device("d0"), words);
        BOOST_TEST(!client->try_feature("d0", "rx-gro", true), words);
        BOOST_TEST(!client->stop_capture(), words);
        BOOST_TEST(!client->counters(), words);
        BOOST_TEST(!client->conntrack_dump(), words);
        BOOST_TEST(!client->conntrack_table(), words);
        BOOST_TEST(!client->conntrack_stats(), words);
        BOOST_TEST(!client->stop_events(), words);
        BOOST_TEST(!client->stop_path_watch(), words);
        BOOST_TEST(!client->ping({}), words);
        BOOST_TEST(client->beat().has_value(), words);
        BOOST_TEST(client->alive(), words);
    }
}

BOOST_AUTO_TEST_CASE(a_host_is_known_by_what_its_agent_says_first) {
    const auto client = agent_that_says("null");
    BOOST_TEST(client->hello().version == "9");
    BOOST_TEST(client->hello().build == "b");
    BOOST_TEST(client->hello().kernel == "k");
    BOOST_TEST(client->hello().cpus == 1u);
    BOOST_TEST(client->hello().copied == "");
    for (const std::string other :
         {"7", "{}", "{\"agent\":\"another\"}", "[]", "{\"agent\":\"pathproof\",\"version\":{}}"}) {
        const auto none =
            start({"sh", "-c", "read a; printf '{\"id\":1,\"ok\":%s}\\n' \"$0\"; read a", other});
        BOOST_TEST(!none, other);
    }
}

BOOST_AUTO_TEST_CASE(the_copy_of_our_program_is_one_archive_and_one_line) {
    const auto copy = copy_of_program();
    BOOST_REQUIRE_MESSAGE(copy, copy.error().message);
    BOOST_TEST(copy->archive.size() % 10'240 == 0u);
    BOOST_TEST(copy->archive.starts_with("exe"));
    BOOST_TEST(copy->archive.find("libc.so.6") != std::string::npos);
    BOOST_TEST(copy->command.starts_with("sh -c '"));
    BOOST_TEST(copy->command.find_first_of("'\n!", 7) == copy->command.size() - 1, copy->command);
    // The linker decides the length of the build ID.
    BOOST_TEST(build_id().size() >= 16u);
    BOOST_TEST(build_id().find_first_not_of("0123456789abcdef") == std::string::npos);
}
