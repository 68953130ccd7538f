// Command lines that make no sense, by the hundred and for every command: each is refused with a
// sentence and exit code 2, soon, and the machine is as it was. PATHPROOF_BAD_LINES: how many.
// Run by hand on an instrumented build too: PATHPROOF_BINARY=.../pathproof bad_lines_test
#define BOOST_TEST_MODULE bad_lines
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>

#include "dataplane/base/pattern.h"
#include "harness/process/program.h"

using namespace pathproof;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

// Whatever is typed behind these, nothing that is there is touched: light ones are whole, heavy
// ones name what does not exist.
const std::vector<Words> kBases = {
    {"qualify", "--only", "none-such"},
    {"repro", "none-such"},
    {"inspect", "dump"},
    {"inspect", "watch", "--count", "1", "--duration", "1"},
    {"inspect", "clashes", "--duration", "1"},
    {"inspect", "backends", "--netns", "pp-none"},
    {"inspect", "stats"},
    {"inspect", "drops", "--duration", "0.1", "--netns", "pp-none"},
    {"inspect", "top", "--netns", "pp-none"},
    {"inspect", "export", "--netns", "pp-none"},
    {"offload", "show", "pp-none0"},
    {"offload", "set", "pp-none0", "tx=on"},
    {"offload", "check", "pp-none0"},
    {"offload", "check", "--dpdk", "pp-none0", "--far", "pp-none1"},
    {"offload", "calibrate", "--frames", "1"},
    {"generate", "net_null0,no-rx=1", "--destination", "203.0.113.2", "--destination-mac",
     "02:70:70:00:01:01", "--count", "5"},
    {"respond", "net_null0,no-rx=1", "--duration", "0.1", "--rule", "address=192.0.2.1"},
    {"wire", "net_null0,no-rx=1", "net_null1,no-rx=1", "--duration", "0.1"},
    {"search", "mlr", "pp-none0"},
    {"search", "throughput", "pp-none0"},
    {"search", "latency", "pp-none0"},
    {"search", "loss", "pp-none0"},
    {"search", "back-to-back", "pp-none0"},
    {"search", "recovery", "pp-none0"},
    {"lab", "up", "overlay", "--no-such"},
    {"lab", "up", "nat-box", "--backends", "999"},
    {"lab", "down", "pp-none"},
    {"lab", "list"},
    {"lab", "check", "/nowhere.toml"},
    {"profile", "list"},
    {"profile", "show", "veth"},
    {"profile", "check", "pp-none0"},
    {"profile", "probe", "pp-none0"},
    {"profile", "errata", "list"},
    {"k8s", "manifest", "--only", "none-such"},
    {"bench", "--only", "none-such"},
    {"bench", "inspect", "--only", "none-such"},
    {"bench", "dataplane", "--only", "none-such"},
    {"restore", "--no-such"},
};

struct Option {
    std::string name;
    std::string type;  // TEXT, UINT, INT, FLOAT; empty: a flag
};

std::string binary() {
    const char* named = std::getenv("PATHPROOF_BINARY");
    BOOST_REQUIRE_MESSAGE(named != nullptr, "PATHPROOF_BINARY must name the binary");
    return fs::absolute(named);
}

// Returns the leading words of a base that name its command.
Words command_of(const Words& base) {
    Words command;
    for (const std::string& word : base) {
        if (word.find_first_of("-,./0=") != std::string::npos || word == "none-such" ||
            command.size() == (base[0] == "lab" && base[1] == "up" ? 3U : 2U)) {
            break;
        }
        command.push_back(word);
    }
    if (command.size() == 2 && (command[0] == "repro" || command[1] == "veth")) {
        command.pop_back();
    }
    return command;
}

std::vector<Option> options_of(const Words& command) {
    Words words{binary()};
    words.insert(words.end(), command.begin(), command.end());
    words.emplace_back("--help");
    const auto help = process::run_program(words);
    BOOST_REQUIRE(help);
    BOOST_REQUIRE_MESSAGE(help->exit_status == 0, fmt::format("{}", fmt::join(words, " ")));
    static const Pattern kLine("^ +(-[a-z],)?(--[a-z0-9-]+)( (TEXT|UINT|INT|FLOAT))?");
    std::vector<Option> options;
    std::istringstream lines(help->out);
    for (std::string line; std::getline(lines, line);) {
        const auto parts = kLine.search(line);
        if (parts && (*parts)[2] != "--help") {
            options.push_back({(*parts)[2], (*parts)[4]});
        }
    }
    return options;
}

// mt19937 gives the same numbers everywhere; distributions do not.
class Dice {
  public:
    explicit Dice(std::uint32_t seed) : random_(seed) {}
    std::size_t below(std::size_t end) { return random_() % end; }
    template <typename List>
    const auto& one_of(const List& list) {
        return list[below(std::size(list))];
    }

  private:
    std::mt19937 random_;
};

const Words kNoNumbers = {"-1",    "--1", "ten", "1e999", "nan", "-inf",
                          "0x10",  "010", "1 2", "1,",    "٣٤",  "99999999999999999999",
                          "1.5.2", "+1",  "½"};
const Words kOddTexts = {"\xff\xfe", "\xc3",       "𐍈\x01",   "a\nb",      "\x1b[31m",
                         "../../..", "-",          "--",      "%n%s%n",    "$(reboot)",
                         "日本語",   "a\tb",       ",",       "=,=,=",     "0000:zz:00.0",
                         "net_",     "net_null0,", "af_xdp:", "/dev/null", "{}"};

struct BadLine {
    Words words;
    std::string told;  // must be in what is said; empty: anything
};

// Spoils a line in one of several ways.
BadLine spoiled(const Words& base, const std::vector<Option>& options, Dice& dice) {
    BadLine line{base, ""};
    const auto add = [&](std::initializer_list<std::string> words) {
        line.words.insert(line.words.end(), words);
    };
    std::vector<Option> valued;
    for (const Option& option : options) {
        if (!option.type.empty()) {
            valued.push_back(option);
        }
    }
    const std::size_t way = valued.empty() ? dice.below(4) : dice.below(11);
    switch (way) {
        case 0: add({fmt::format("--no-such-{}", dice.below(1000))}); break;
        case 1: line.words[1 < command_of(base).size() ? 1 : 0] += "x"; break;
        case 2:
            add({"", "word"});
            line.told = "is empty";
            break;
        case 3:
            add({std::string(dice.one_of(std::array{5000, 100'000}), 'x')});
            line.told = "longer than";
            break;
        case 4:
        case 5: {
            const Option& option = dice.one_of(valued);
            option.type == "TEXT" ? add({option.name, ""})
                                  : add({option.name, dice.one_of(kNoNumbers)});
            line.told = option.type == "TEXT" ? "is empty" : "";
            break;
        }
        case 6:
            add({dice.one_of(valued).name + "="});
            line.told = "is empty";
            break;
        // The option has no value.
        case 7: add({dice.one_of(valued).name}); break;
        case 8:
            for (std::size_t n = 0, many = 3 + dice.below(400); n < many; ++n) {
                add({"--vlan", std::to_string(n)});
            }
            break;
        case 9: add({dice.one_of(valued).name, dice.one_of(kOddTexts), "--no-such"}); break;
        default:
            for (std::size_t n = 0; n < 30; ++n) {
                add({dice.one_of(valued).name, dice.one_of(kOddTexts)});
            }
            add({"--no-such"});
            break;
    }
    return line;
}

// Returns the state that a command could have changed.
std::string state() {
    const auto told = process::run_program(
        {"sh", "-c",
         "ip -d address show | sed 's/[a-z_]*lft [^ ]*//g'; ip netns; ls -R /run/pathproof "
         "/run/netns; "
         "cat /sys/kernel/mm/hugepages/*/nr_hugepages /proc/self/mounts; "
         "cat /proc/sys/net/core/gro_normal_batch; cat /proc/net/route; ls -A ."});
    BOOST_REQUIRE(told);
    return told->out;
}

std::string shown(const Words& words) {
    std::string text;
    for (const std::string& word : words) {
        text += fmt::format(" '{:.60}'", word);
    }
    return text.substr(0, 600);
}

}  // namespace

BOOST_AUTO_TEST_CASE(bad_command_lines_are_refused_and_change_nothing) {
    const std::string program = binary();
    const char* wanted = std::getenv("PATHPROOF_BAD_LINES");
    const std::size_t lines = wanted == nullptr ? 60 : std::strtoul(wanted, nullptr, 10);
    std::string folder = fs::temp_directory_path() / "pp-bad-lines-XXXXXX";
    BOOST_REQUIRE(mkdtemp(folder.data()) != nullptr);
    fs::current_path(folder);
    std::vector<std::vector<Option>> options;
    for (const Words& base : kBases) {
        options.push_back(options_of(command_of(base)));
    }
    const std::string before = state();
    Dice dice(20'251);
    for (std::size_t n = 0; n < lines; ++n) {
        const std::size_t which = n % kBases.size();
        const BadLine line = spoiled(kBases[which], options[which], dice);
        Words words{program};
        words.insert(words.end(), line.words.begin(), line.words.end());
        const auto done = process::run_program(words, {.timeout = std::chrono::seconds(10)});
        BOOST_TEST_CONTEXT("line " << n << ":" << shown(line.words)) {
            BOOST_TEST(done.has_value(), (done ? "" : done.error().message));
            if (!done) {
                continue;
            }
            BOOST_TEST(done->exit_status == 2, done->err.substr(0, 2000));
            BOOST_TEST(done->out == "");
            BOOST_TEST(done->err.find("pathproof: ") != std::string::npos, done->err);
            BOOST_TEST(done->err.find("terminate called") == std::string::npos);
            BOOST_TEST(done->err.size() < 2000U);
            BOOST_TEST(done->err.find(line.told) != std::string::npos,
                       line.told << " in " << done->err.substr(0, 300));
        }
    }
    std::istringstream earlier(before);
    std::istringstream later(state());
    for (std::string was, is; std::getline(earlier, was) && std::getline(later, is);) {
        BOOST_TEST(is == was);
    }
    BOOST_TEST(state().size() == before.size());
    fs::current_path("/");
    fs::remove_all(folder);
}
