#define BOOST_TEST_MODULE process
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/process/at_once.h"
#include "harness/process/child.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/process/programs.h"
#include "harness/process/rpc.h"
#include "harness/process/ssh.h"

using namespace pathproof;
using namespace pathproof::process;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// A shell child that answers each line it reads with one made from it.
Child shell(const std::string& script) {
    auto child = Child::start({"/bin/sh", "-c", script}, {});
    BOOST_REQUIRE_MESSAGE(child, child.error().message);
    return std::move(*child);
}

// A file that a child makes when it has come to a place; removed at the end.
class Marker {
  public:
    Marker() { std::filesystem::remove(path_); }
    Marker(const Marker&) = delete;
    Marker& operator=(const Marker&) = delete;
    ~Marker() { std::filesystem::remove(path_); }

    std::string set() const { return ": >" + path_ + "; "; }  // for a shell
    void wait() const {
        while (!std::filesystem::exists(path_)) {
            std::this_thread::sleep_for(1ms);
        }
    }

  private:
    const std::string path_ =
        std::filesystem::temp_directory_path() / ("pathproof-marker." + std::to_string(getpid()));
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_program_gives_its_output_and_exit_status) {
    const auto output =
        run_program({"sh", "-c", "cat; echo problem >&2; exit 7"}, {.input = "fed"});
    BOOST_REQUIRE(output);
    BOOST_TEST(output->out == "fed");
    BOOST_TEST(output->err == "problem\n");
    BOOST_TEST(output->exit_status == 7);
    const auto checked = run_checked({"sh", "-c", "echo problem >&2; exit 7"});
    BOOST_REQUIRE(!checked);
    BOOST_TEST(checked.error().message.find("status 7: problem") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_end_is_killed) {
    const auto began = std::chrono::steady_clock::now();
    const auto output = run_program({"sleep", "60"}, {.timeout = 200ms});
    BOOST_REQUIRE(!output);
    BOOST_TEST((output.error().code == ErrorCode::kUnavailable));
    BOOST_TEST((std::chrono::steady_clock::now() - began < 5s));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_not_found) {
    const auto output = run_program({"pathproof-no-such-program"});
    BOOST_REQUIRE(!output);
    BOOST_TEST((output.error().code == ErrorCode::kNotFound));
}

// In a process of its own: a process that is held to the list stays so.
BOOST_AUTO_TEST_CASE(the_binary_starts_no_program_that_is_not_in_its_list) {
    const pid_t child = fork();
    if (child == 0) {
        start_known_programs_only();
        const std::string own = "/bin/true";
        const auto refused = run_program({"true"});
        const bool by_name =
            !refused && refused.error().message.find("programs.cc") != std::string::npos;
        const bool as_child = !Child::start({"true"}, {});
        const bool listed = run_program({"sh", "-c", "exit 7"})->exit_status == 7;
        const bool by_path = run_program({own})->exit_status == 0;
        _exit((by_name ? 1 : 0) | (as_child ? 2 : 0) | (listed ? 4 : 0) | (by_path ? 8 : 0));
    }
    int state = 0;
    BOOST_REQUIRE(waitpid(child, &state, 0) == child);
    BOOST_TEST(WEXITSTATUS(state) == 15);
    BOOST_TEST(run_program({"true"})->exit_status == 0);
}

BOOST_AUTO_TEST_CASE(work_at_one_time_is_waited_for_and_its_first_error_told) {
    std::atomic<int> done = 0;
    const std::array<int, 4> hosts{0, 1, 2, 3};
    const auto work = [&](int host) -> Status {
        std::this_thread::sleep_for(std::chrono::milliseconds(10 * (4 - host)));
        ++done;
        return host == 1 || host == 2
                   ? fail(ErrorCode::kNotFound, "no {} among all the hosts", host)
                   : Status();
    };
    const Status failed = at_once(hosts, work);
    BOOST_REQUIRE(!failed);
    BOOST_TEST(failed.error().message == "no 1 among all the hosts");
    BOOST_TEST(done == 4);
    BOOST_TEST(at_once(std::array<int, 2>{0, 3}, work).has_value());
}

BOOST_AUTO_TEST_CASE(large_input_and_output_pass_through) {
    const std::string text(3'000'000, 'x');
    const auto output = run_program({"cat"}, {.input = text});
    BOOST_REQUIRE(output);
    BOOST_TEST(output->out.size() == text.size());
}

BOOST_AUTO_TEST_CASE(an_unknown_namespace_is_named) {
    const Status entered = in_netns("pp-no-such", [] { return Status(); });
    BOOST_REQUIRE(!entered);
    BOOST_TEST(entered.error().message.find("pp-no-such") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(answers_may_come_in_any_order) {
    const Marker has_the_first;
    RpcClient client(shell("read a; " + has_the_first.set() +
                           "read b; "
                           "echo '{\"id\":2,\"ok\":\"second\"}'; echo noise; echo "
                           "'{\"id\":1,\"ok\":\"first\"}'; read c"),
                     "shell");
    Result<json> first = json();
    std::thread asks_first([&] { first = client.call("one", {}); });
    has_the_first.wait();
    const Result<json> second = client.call("two", {});
    asks_first.join();
    BOOST_REQUIRE(first);
    BOOST_REQUIRE(second);
    BOOST_TEST(*first == "first");
    BOOST_TEST(*second == "second");
}

BOOST_AUTO_TEST_CASE(a_process_that_dies_fails_the_calls_that_wait_for_it) {
    RpcClient client(shell("read a; kill -9 $$"), "shell");
    const auto answer = client.call("anything", {}, 10s);
    BOOST_REQUIRE(!answer);
    BOOST_TEST((answer.error().code == ErrorCode::kUnavailable));
    BOOST_TEST(answer.error().message.find("before it answered") != std::string::npos);
    BOOST_TEST(!client.alive());
    BOOST_TEST(!client.call("again", {}));
}

BOOST_AUTO_TEST_CASE(a_process_that_says_nothing_runs_into_the_timeout) {
    RpcClient client(shell("read a; read b"), "shell");
    const auto answer = client.call("anything", {}, 100ms);
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().message.find("did not answer 'anything'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_process_that_does_not_read_holds_nobody_beyond_the_timeout) {
    RpcClient client(shell("sleep 20"), "shell");
    const auto began = std::chrono::steady_clock::now();
    const json megabytes = std::string(8 << 20, 'x');
    Result<json> other = json();
    std::thread asks_too([&] {
        std::this_thread::sleep_for(300ms);
        other = client.call("short", {}, 100ms);
    });
    const auto answer = client.call("long", megabytes, 1500ms);
    asks_too.join();
    BOOST_REQUIRE(!answer);
    BOOST_TEST((answer.error().code == ErrorCode::kUnavailable));
    BOOST_REQUIRE(!other);
    BOOST_TEST(other.error().message.find("'short' within 100 ms") != std::string::npos);
    BOOST_TEST((std::chrono::steady_clock::now() - began < 10s));
}

BOOST_AUTO_TEST_CASE(long_requests_and_answers_cross_without_waiting_for_each_other) {
    // The program reads the second request only after its own megabytes were taken.
    const Marker has_the_first;
    RpcClient client(
        shell("read a; " + has_the_first.set() +
              "printf '{\"id\":1,\"ok\":\"'; head -c 8000000 /dev/zero | tr "
              "'\\0' y; echo '\"}'; read b; echo '{\"id\":2,\"ok\":\"taken\"}'; read c"),
        "shell");
    Result<json> first = json();
    std::thread asks_first([&] { first = client.call("one", {}, 20s); });
    has_the_first.wait();
    const auto second = client.call("two", std::string(4 << 20, 'x'), 20s);
    asks_first.join();
    BOOST_REQUIRE_MESSAGE(first, (first ? "" : first.error().message));
    BOOST_REQUIRE_MESSAGE(second, (second ? "" : second.error().message));
    BOOST_TEST(first->get<std::string>().size() == 8'000'000U);
    BOOST_TEST(*second == "taken");
}

BOOST_AUTO_TEST_CASE(the_server_answers_requests_and_refuses_what_is_none) {
    int to_server[2];
    int from_server[2];
    BOOST_REQUIRE(pipe(to_server) == 0 && pipe(from_server) == 0);
    RpcServer server;
    server.on("double", [](const json& args) -> Result<json> {
        return json(args.at("number").get<int>() * 2);
    });
    server.on("refuse", [](const json&) -> Result<json> {
        return fail(ErrorCode::kNotFound, "no such thing");
    });
    std::thread serving([&] { server.serve(to_server[0], from_server[1]); });
    FILE* answers = fdopen(from_server[0], "r");
    const auto ask = [&](const std::string& line) {
        BOOST_REQUIRE(write(to_server[1], (line + "\n").data(), line.size() + 1) > 0);
        char buffer[1024] = "";
        BOOST_REQUIRE(fgets(buffer, sizeof buffer, answers) != nullptr);
        return json::parse(buffer);
    };
    BOOST_TEST(ask(R"({"id":1,"op":"double","args":{"number":21}})")["ok"] == 42);
    BOOST_TEST(ask(R"({"id":2,"op":"refuse"})")["error"]["code"] == "not_found");
    BOOST_TEST(ask(R"({"id":3,"op":"unheard"})")["error"]["code"] == "bad_input");
    BOOST_TEST(ask(R"({"id":4,"op":"double","args":{"number":"x"}})")["error"]["code"] ==
               "bad_input");
    BOOST_TEST(ask("not json")["error"]["code"] == "bad_input");
    BOOST_TEST(ask("[1,2]")["error"]["code"] == "bad_input");
    close(to_server[1]);
    serving.join();
    fclose(answers);
    close(from_server[1]);
    close(to_server[0]);
}

BOOST_AUTO_TEST_CASE(stopping_a_child_says_how_it_ended) {
    BOOST_TEST(shell("read a; exit 3").stop() == "exit status 3");
    BOOST_TEST(shell("kill -9 $$").stop() == "signal 9 (Killed)");
}

// Answers of another host are not trusted.
BOOST_AUTO_TEST_CASE(answers_that_are_none_are_passed_over_and_wrong_ones_are_errors) {
    RpcClient client(
        shell("say() { printf '%s\\n' \"$1\"; }; echo Welcome; say '[1]'; say '{\"id\":-1}'; say "
              "'{\"id\":77,\"ok\":1}'; read a; "
              "say '{\"id\":1,\"error\":7}'; read a; "
              "say '{\"id\":2,\"error\":{\"code\":[],\"message\":{}}}'; read a; say '{\"id\":3}'; "
              "read a; say '{\"id\":4,\"error\":{\"message\":\"\\u001b[31m\\u0007red\\nline\"}}'; "
              "read a; say '{\"id\":5,\"ok\":[\"a\\u009bb\",{\"\\u001bkey\":1,\"key\":\"\\t\"}]}'; "
              "read a"),
        "shell");
    for (int i = 0; i < 3; ++i) {
        const auto answer = client.call("op", {});
        BOOST_REQUIRE(!answer);
        BOOST_TEST(answer.error().message == "shell: no message");
    }
    BOOST_TEST(client.call("op", {}).error().message == "shell: ?[31m?red\nline");
    const auto clean = client.call("op", {});
    BOOST_REQUIRE(clean);
    BOOST_TEST(clean->dump() == R"(["a??b",{"key":"\t"}])");
    BOOST_TEST(client.said() == "Welcome\n[1]\n{\"id\":-1}\n");
}

BOOST_AUTO_TEST_CASE(who_says_too_much_is_listened_to_no_more) {
    for (const std::string rubbish : {"yes", "tr '\\0' x </dev/zero", "yes '{\"id\":\"a\"}'"}) {
        RpcClient client(shell(rubbish), "shell");
        const auto answer = client.call("op", {}, 20s);
        BOOST_REQUIRE(!answer);
        BOOST_TEST((answer.error().code == ErrorCode::kUnavailable));
        BOOST_TEST(answer.error().message.find(
                       "said more than 1048576 bytes that are no answers") != std::string::npos,
                   answer.error().message);
        BOOST_TEST(!client.alive());
    }
    RpcClient client(shell("printf '{'; tr '\\0' x </dev/zero"), "shell");
    const auto answer = client.call("op", {}, 60s);
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().message.find("an answer of more than") != std::string::npos,
               answer.error().message.substr(0, 500));
}

BOOST_AUTO_TEST_CASE(what_is_said_on_standard_error_is_kept_for_the_sentence) {
    auto child = Child::start({"sh", "-c",
                               "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo $i >&2; "
                               "done; printf 'no \\033way\\r\\n' >&2; exit 255"},
                              {.keep_errors = true});
    BOOST_REQUIRE(child);
    RpcClient client(std::move(*child), "ssh");
    const auto answer = client.call("op", {});
    BOOST_REQUIRE(!answer);
    BOOST_TEST(answer.error().message.find("exit status 255") != std::string::npos);
    BOOST_TEST(answer.error().message.ends_with("20000\nno ?way"), answer.error().message);
    BOOST_TEST(answer.error().message.size() < 3000u);
    BOOST_TEST((client.exit_status() == 255));
}

BOOST_AUTO_TEST_CASE(json_of_others_is_bounded_in_depth) {
    const auto nested = [](std::size_t deep) {
        return std::string(deep, '[') + "\"[[[\\\"[\"" + std::string(deep, ']');
    };
    BOOST_TEST(parse_foreign(nested(64)).is_array());
    BOOST_TEST(parse_foreign(nested(65)).is_null());
    BOOST_TEST(parse_foreign(std::string(1'000'000, '[')).is_null());
    // Brackets within quotes open no list, and a quoted text ends at its own quote.
    const std::string lists(70, '[');
    for (const std::string before : {"", "\\\"", "\\\\", "\\\\\\\""}) {
        const std::string text = "[\"" + before + lists + "\"]";
        BOOST_TEST(parse_foreign(text).is_array(), text);
        BOOST_TEST(parse_foreign("[\"" + before + "\"," + lists).is_null());
        BOOST_TEST(parse_foreign("[\"" + before + "\"," + nested(62) + "]").is_array());
        BOOST_TEST(parse_foreign("[\"" + before + "\"," + nested(64) + "]").is_null());
    }
    BOOST_TEST(parse_foreign("[\"\\").is_null());
    BOOST_TEST(parse_foreign("{\"a\":").is_null());
    BOOST_TEST(without_controls("a\tb\n\xc3\xa9\x7f\xc2\x9b\x1b") == "a\tb\n\xc3\xa9????");
    BOOST_TEST(last_words(" \n") == "nothing");
}

BOOST_AUTO_TEST_CASE(any_bytes_can_be_put_into_json_and_what_is_no_json_is_null_or_an_error) {
    const nlohmann::json name = {{"name", "a\xffz"}, {"mtu", 1500}};
    BOOST_TEST(to_text(name) == "{\"mtu\":1500,\"name\":\"a\xef\xbf\xbdz\"}");
    BOOST_TEST(to_text(nlohmann::ordered_json(name["mtu"]), 2) == "1500");
    BOOST_TEST(valid_utf8("a\xffz \xc3\xa9") == "a\xef\xbf\xbdz \xc3\xa9");
    for (const char* text : {"", "{\"a\":", "{} {}", "nonsense"}) {
        BOOST_TEST(json_or_null(text).is_null(), text);
        BOOST_TEST(ordered_json_or_null(text).is_null(), text);
    }
    const auto cut_short = parse_json("{\n\"a\": 1,,");
    BOOST_REQUIRE(!cut_short);
    BOOST_TEST(cut_short.error().message.find("line 2, column 8") != std::string::npos,
               cut_short.error().message);
    BOOST_TEST(!parse_json("1e9999"));
    BOOST_TEST(json_or_null("1e9999").is_null());
    BOOST_TEST((parse_json("[1]") == nlohmann::json{1}));
    BOOST_TEST(text_in(name, "mtu", "none") == "none");
    BOOST_TEST(text_in(nlohmann::json(1), "name") == "");
}

BOOST_AUTO_TEST_CASE(ssh_is_called_without_questions_and_its_refusals_have_a_remedy) {
    const auto argv = ssh_command({"root@dut", "/cfg"}, {"sh", "-s"});
    const auto at = [&](const std::string& word) {
        return std::ranges::find(argv, word) - argv.begin();
    };
    BOOST_TEST(argv.front() == "ssh");
    BOOST_TEST(argv[static_cast<std::size_t>(at("-F")) + 1] == "/cfg");
    BOOST_TEST((at("BatchMode=yes") < at("--") && at("--") + 1 == at("root@dut") &&
                at("root@dut") + 2 == at("-s")));
    for (const auto& [said, remedy] :
         {std::pair{"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification "
                    "failed.",
                    "not the one that is known"},
          {"Host key verification failed.", "is not known yet"},
          {"root@dut: Permission denied (publickey).", "refuses the user or the keys"},
          {"ssh: Could not resolve hostname dut", "cannot be reached"}}) {
        const Status failed = ssh_failure({"root@dut", ""}, said);
        BOOST_TEST((failed.error().code == ErrorCode::kNotPermitted));
        BOOST_TEST(failed.error().message.find(remedy) != std::string::npos,
                   failed.error().message);
        BOOST_TEST(failed.error().message.find("'ssh root@dut true'") != std::string::npos);
        BOOST_TEST(failed.error().message.find('\r') == std::string::npos);
    }
}
