// A command whose output or messages cannot be written ends in order, and its exit code reports it.
// No privileges are needed.
#define BOOST_TEST_MODULE streams
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "tests/cli/on_streams.h"
#include "tests/load/capture_bytes.h"

using namespace pathproof;
using namespace pathproof::on_streams;

namespace {

constexpr int kIncomplete = 3;
const std::string kPort = "net_null0,no-rx=1 ";
const std::string kGenerate =
    "generate " + kPort + "--destination 203.0.113.2 --destination-mac 02:70:70:00:01:01 ";
const std::string kRespond = "respond " + kPort + "--rule address=192.0.2.1 ";

class Folder {
  public:
    Folder()
        : path_(std::filesystem::temp_directory_path() /
                ("pp-streams-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(path_);
        setenv("PATHPROOF_RUN_DIR", (path_ / "run").c_str(), 1);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string file(const std::string& name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};
const Folder folder;

double seconds_since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Waits up to 20 s for a condition: on a busy machine a process may wait long for its CPU.
bool comes(const std::function<bool()>& true_now) {
    for (int look = 0; look < 2000 && !true_now(); ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true_now();
}

// Returns what a descriptor of a process refers to; empty: it has no such descriptor.
std::string behind(pid_t process, const std::string& descriptor) {
    std::error_code wrong;
    return std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/fd/" + descriptor,
                                         wrong)
        .string();
}

bool has_open(pid_t process, const std::string& path) {
    std::error_code wrong;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", wrong)) {
        if (behind(process, entry.path().filename()) == path) {
            return true;
        }
    }
    return false;
}

std::size_t threads_of(pid_t process) {
    std::error_code wrong;
    const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task",
                                                      wrong);
    return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

constexpr std::array kBroken = {Sink::kClosed, Sink::kFull, Sink::kNobody};

// The exit status of a command on broken streams is what it should be, beside the same one on whole
// streams. A busy machine makes a command say more in one run than in the next: both are run again.
void ends_as(const std::string& words, const Streams& streams,
             const std::function<int(const Ran& whole)>& expected) {
    Ran ran;
    bool right = false;
    for (int attempt = 0; attempt < 5 && !right; ++attempt) {
        const Ran whole = run(words, {});
        BOOST_TEST_REQUIRE(whole.status < 128, words << "\n" << whole.err);
        ran = run(words, streams);
        right = ran.status == expected(whole);
    }
    BOOST_TEST(right, "exit status " << ran.status << "\n" << ran.err);
}

void holds(const std::string& words, const std::vector<Sink>& sinks) {
    const auto without_messages = [](const Ran& whole) {
        return whole.status == 0 && !whole.err.empty() ? kIncomplete : whole.status;
    };
    for (const Sink broken : sinks) {
        BOOST_TEST_CONTEXT(words << ", standard output " << name(broken)) {
            ends_as(words, {.out = broken}, [](const Ran& whole) {
                return whole.out.empty() ? whole.status : kIncomplete;
            });
            BOOST_TEST((run(words, {.out = broken}).err.find("standard output cannot be written") !=
                        std::string::npos) == !run(words, {}).out.empty());
        }
        BOOST_TEST_CONTEXT(words << ", standard error " << name(broken)) {
            ends_as(words, {.err = broken}, without_messages);
        }
        BOOST_TEST_CONTEXT(words << ", both " << name(broken)) {
            ends_as(words, {.out = broken, .err = broken}, [&](const Ran& whole) {
                return whole.out.empty() ? without_messages(whole) : kIncomplete;
            });
        }
    }
}

// The first of them on each kind of broken stream, each other one on one kind, in turn.
void all_hold(const std::vector<std::string>& commands) {
    holds(commands.front(), {kBroken.begin(), kBroken.end()});
    for (std::size_t number = 1; number < commands.size(); ++number) {
        holds(commands[number], {kBroken[number % kBroken.size()]});
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_printed_at_once_is_lost_with_exit_code_3) {
    all_hold({"--help", "--version", "qualify --help", "profile list", "profile show veth",
              "lab list", "offload show lo", "inspect export --help-metrics", "profile check lo",
              "profile probe lo"});
}

BOOST_AUTO_TEST_CASE(a_command_that_is_refused_is_refused_whatever_its_streams_are) {
    const std::vector<std::string> refused = {"no-such-command", "generate", "profile show nosuch",
                                              "lab check /nowhere.toml", kGenerate + "--rate 0"};
    for (const std::string& words : refused) {
        BOOST_TEST(run(words, {}).status == 2);
    }
    all_hold(refused);
}

BOOST_AUTO_TEST_CASE(the_data_plane_ends_in_order_on_any_streams) {
    all_hold({kGenerate + "--count 5 --drain 0 --json", kRespond + "--duration 0.05",
              "wire " + kPort + "net_null1,no-rx=1 --duration 0.05"});
}

BOOST_AUTO_TEST_CASE(a_generator_whose_reader_ends_stops) {
    // A run that went on would be ended by its alarm.
    const Ran ran = run(kGenerate + "--duration 600 --rate 1000 --json", {.out = Sink::kNobody});
    BOOST_TEST(ran.status == kIncomplete);
    const Ran quiet = run(kGenerate + "--duration 600 --rate 1000", {.err = Sink::kNobody});
    BOOST_TEST(quiet.status == kIncomplete);
    BOOST_TEST(quiet.out.find("PARTIAL") != std::string::npos, quiet.out);
}

BOOST_AUTO_TEST_CASE(messages_that_do_not_fit_the_disk_stop_nothing) {
    const Ran ran = run(kRespond + "--duration 1.2", {.err = Sink::kFull});
    BOOST_TEST(ran.status == kIncomplete);
    BOOST_TEST(!ran.out.empty());
}

BOOST_AUTO_TEST_CASE(no_file_of_a_run_becomes_a_standard_stream) {
    Process respond(kRespond + "--duration 60",
                    {.in = Sink::kClosed, .out = Sink::kClosed, .err = Sink::kClosed});
    // The EAL makes threads; while it starts, what it prints is held back in a file of memory.
    BOOST_TEST(comes([&] {
        return threads_of(respond.pid()) > 1 && behind(respond.pid(), "1") == "/dev/null";
    }));
    for (const char* descriptor : {"0", "1", "2"}) {
        BOOST_TEST(behind(respond.pid(), descriptor) == "/dev/null");
    }
    respond.signal(SIGTERM);
    BOOST_TEST(respond.wait().status == kIncomplete);
}

BOOST_AUTO_TEST_CASE(a_hangup_that_is_ignored_stays_so) {
    for (const std::string& command : {kRespond, "wire " + kPort + "net_null1,no-rx=1 "}) {
        BOOST_TEST_CONTEXT(command) {
            const auto began = std::chrono::steady_clock::now();
            Process ignoring(command + "--duration 1.5", {}, Hangup::kIgnored);
            ignoring.await_err();
            ignoring.signal(SIGHUP);
            BOOST_TEST(ignoring.wait().status < 128);
            BOOST_TEST(seconds_since(began) > 1.5);
            // A command that went on would be ended by its alarm.
            Process ending(command + "--duration 600", {}, Hangup::kDefault);
            ending.await_err();
            ending.signal(SIGHUP);
            BOOST_TEST(ending.wait().status < 128);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_pipe_that_does_not_block_loses_nothing) {
    const Ran whole = run("generate --help", {});
    BOOST_TEST_REQUIRE(whole.out.size() > 4096U);
    std::array<int, 2> ends{-1, -1};
    BOOST_TEST_REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
    BOOST_TEST_REQUIRE(fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    Process slow("generate --help", {}, Hangup::kDefault, ends[1]);
    close(ends[1]);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    BOOST_TEST(read_all(ends[0]) == whole.out);
    close(ends[0]);
    BOOST_TEST(slow.wait().status == 0);
}

BOOST_AUTO_TEST_CASE(a_replay_that_waits_for_a_writer_is_ended_by_a_signal) {
    const std::string fifo = folder.file("nobody.pcap");
    BOOST_TEST_REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    for (const int number : {SIGINT, SIGTERM}) {
        Process replay("generate " + kPort + "--replay " + fifo, {});
        BOOST_TEST(comes([&] { return has_open(replay.pid(), fifo); }));
        replay.signal(number);
        const Ran ran = replay.wait();
        BOOST_TEST(ran.status == kIncomplete);
        BOOST_TEST(ran.err.find("stopped while reading it") != std::string::npos, ran.err);
    }
}

BOOST_AUTO_TEST_CASE(a_replay_takes_a_short_capture_out_of_a_pipe) {
    const std::string fifo = folder.file("short.pcap");
    BOOST_TEST_REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    load::Octets capture = load::pcap_file();
    for (std::uint32_t second = 1; second <= 3; ++second) {
        load::add_frame(capture, second, 0, load::Octets(60, 2));
    }
    Process replay("generate " + kPort + "--json --replay " + fifo, {});
    // Refused (ENXIO) as long as nobody reads.
    int writer = -1;
    BOOST_TEST_REQUIRE(comes(
        [&] { return writer >= 0 || (writer = open(fifo.c_str(), O_WRONLY | O_NONBLOCK)) >= 0; }));
    BOOST_TEST(write(writer, capture.data(), capture.size()) ==
               static_cast<ssize_t>(capture.size()));
    close(writer);
    const Ran ran = replay.wait();
    BOOST_TEST(ran.status != 2, ran.err);
    BOOST_TEST(ran.out.find("\"sent\":3") != std::string::npos, ran.out);
}
