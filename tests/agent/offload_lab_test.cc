// `pathproof offload` and `pathproof agent` as a script sees them.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/agent/lab.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(commands)

using namespace pathproof;
using namespace pathproof::agent;
using namespace pathproof::agent::test;

namespace {

std::string binary() {
    const char* path = std::getenv("PATHPROOF_BINARY");
    BOOST_REQUIRE_MESSAGE(path != nullptr, "PATHPROOF_BINARY must name the built binary");
    return path;
}

process::ProgramOutput pathproof_command(std::vector<std::string> words,
                                         const std::string& input = {}) {
    words.insert(words.begin(), binary());
    const auto output = process::run_program(words, {.netns = {}, .input = input});
    BOOST_REQUIRE_MESSAGE(output, output.error().message);
    return *output;
}

using pathproof::test::contains;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

}  // namespace

BOOST_AUTO_TEST_CASE(offload_show_prints_every_feature_as_text_and_as_json_lines) {
    const Lab lab;
    const auto text = pathproof_command({"offload", "show", "e0", "--netns", lab.a});
    BOOST_TEST(text.exit_status == 0);
    BOOST_TEST(contains(text.out, "tx-checksum-ip-generic: on\n"), text.out);
    BOOST_TEST(contains(text.out, "vlan-challenged: off [fixed]\n"), text.out);
    const auto lines = pathproof_command({"offload", "show", "e0", "--netns", lab.a, "--json"});
    BOOST_TEST(lines_of(lines.out).size() == lines_of(text.out).size());
    for (const std::string& line : lines_of(lines.out)) {
        const auto feature = nlohmann::json::parse(line, nullptr, false);
        BOOST_REQUIRE_MESSAGE(feature.is_object(), line);
        BOOST_TEST(contains(
            text.out, feature["name"].get<std::string>() + (feature["active"] ? ": on" : ": off")));
    }
}

BOOST_AUTO_TEST_CASE(offload_set_prints_before_after_and_what_changed_along) {
    const Lab lab;
    const auto off =
        pathproof_command({"offload", "set", "e0", "tx=off", "gro=on", "--netns", lab.a});
    BOOST_TEST(off.exit_status == 0, off.err);
    BOOST_TEST(contains(off.out, "tx-checksum-ip-generic: on -> off\n"), off.out);
    BOOST_TEST(contains(off.out, "tx-tcp-segmentation: on -> off (changed along)\n"), off.out);
    BOOST_TEST(contains(run_in(lab.a, "ethtool -k e0"), "tx-checksum-ip-generic: off"));
    const auto again = pathproof_command({"offload", "set", "e0", "tx=off", "--netns", lab.a});
    BOOST_TEST(again.exit_status == 0);
    BOOST_TEST(again.out == "e0: nothing to change\n");
}

BOOST_AUTO_TEST_CASE(offload_set_with_a_wrong_word_changes_nothing_and_exits_with_2) {
    const Lab lab;
    const std::string before = run_in(lab.a, "ethtool -k e0");
    const std::vector<std::vector<std::string>> wrong{{"e0", "tx=off", "tx-checksum-ip-genric=off"},
                                                      {"e0", "tx=off", "rx=maybe"},
                                                      {"e0", "tx=off", "rx"},
                                                      {"e0", "tx=off", "=on"},
                                                      {"e0", "tx=off", "vlan-challenged=on"},
                                                      {"e9", "tx=off"}};
    for (std::vector<std::string> words : wrong) {
        words.insert(words.begin(), {"offload", "set"});
        words.insert(words.end(), {"--netns", lab.a});
        const auto output = pathproof_command(words);
        BOOST_TEST(output.exit_status == 2, words[4] << ": " << output.err);
        BOOST_TEST(output.out.empty());
        BOOST_TEST(output.err.starts_with("pathproof: "), output.err);
        BOOST_TEST(run_in(lab.a, "ethtool -k e0") == before);
    }
    const auto no_such_namespace =
        pathproof_command({"offload", "show", "e0", "--netns", "pp-agent-no-such"});
    BOOST_TEST(no_such_namespace.exit_status == 2);
    BOOST_TEST(contains(no_such_namespace.err, "pp-agent-no-such"));
    BOOST_TEST(pathproof_command({"offload"}).exit_status == 2);
    BOOST_TEST(pathproof_command({"offload", "set", "e0"}).exit_status == 2);
}

BOOST_AUTO_TEST_CASE(the_agent_answers_every_line_and_ends_with_its_input) {
    const auto output = pathproof_command(
        {"agent"},
        "{\"id\":1,\"op\":\"hello\"}\nnoise\n{\"id\":2,\"op\":\"no_such\"}\n"
        "{\"id\":3,\"op\":\"read_sysctl\",\"args\":[\"net.ipv4.ip_forward\"]}\n"
        "{\"id\":4,\"op\":\"ping\",\"args\":[]}\n"
        "{\"id\":5,\"op\":\"ping\",\"args\":[{\"destination\":\"nowhere\",\"count\":1,"
        "\"payload_bytes\":1,\"interval_ms\":1,\"timeout_ms\":1}]}\n");
    BOOST_TEST(output.exit_status == 0);
    std::map<std::string, nlohmann::json> answers;
    for (const std::string& line : lines_of(output.out)) {
        const auto answer = nlohmann::json::parse(line, nullptr, false);
        BOOST_REQUIRE_MESSAGE(answer.is_object(), line);
        answers[answer["id"].dump()] = answer;
    }
    BOOST_TEST(answers.size() == 6U);
    BOOST_TEST(answers["1"]["ok"]["agent"] == "pathproof");
    BOOST_TEST(answers["3"]["ok"].is_string());
    for (const char* id : {"null", "2", "4", "5"}) {
        BOOST_TEST(answers[id]["error"]["code"] == "bad_input", id);
    }
}

BOOST_AUTO_TEST_SUITE_END()
