// `pathproof inspect why` of flows in which nothing is wrong, in everyday set-ups: it accuses nobody. Each
// flow is proven by its own ends first: every question was answered.
// PATHPROOF_SETUPS: set-ups with that word in their name only. PATHPROOF_OBSERVERS=all: asked from before
// the first packet to behind the last one as well, and in the namespaces of client and server.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <future>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "dataplane/base/file.h"
#include "dataplane/frame/address.h"
#include "harness/process/child.h"
#include "harness/process/foreign.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "tests/monitor/healthy_setups.h"
#include "tests/netfilter/lab_namespace.h"

BOOST_AUTO_TEST_SUITE(healthy_flows)

using namespace pathproof;
using namespace std::chrono_literals;
using monitor::lab::healthy_setups;
using monitor::lab::Setup;
using monitor::lab::Talk;
using nlohmann::json;

namespace {

constexpr const char* kWatchFor_s = "1.5";
constexpr auto kBetween = 40ms;      // questions
constexpr unsigned kExchanges = 16;  // of one conversation
constexpr char kWantsAnswer = 'a';
constexpr unsigned kRare = 8;  // of Talk::kUdpRare: one in so many questions is answered

struct End {
    sockaddr_storage storage{};
    socklen_t size = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

End end_of(const std::string& address, std::uint16_t port) {
    End end;
    if (address.find(':') == std::string::npos) {
        auto* v4 = reinterpret_cast<sockaddr_in*>(&end.storage);
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        BOOST_REQUIRE(inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1);
        end.size = sizeof *v4;
    } else {
        auto* v6 = reinterpret_cast<sockaddr_in6*>(&end.storage);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        BOOST_REQUIRE(inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1);
        end.size = sizeof *v6;
    }
    return end;
}

Fd socket_in(const std::string& netns, const std::string& address, std::uint16_t port, int type,
             bool transparent = false) {
    const End here = end_of(address, port);
    Fd made;
    const Status opened = process::in_netns(netns, [&]() -> Status {
        made = Fd(::socket(here.storage.ss_family, type | SOCK_CLOEXEC, 0));
        return {};
    });
    BOOST_REQUIRE(opened && made.get() >= 0);
    const int on = 1;
    const timeval wait{.tv_sec = 2, .tv_usec = 0};
    setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (transparent) {
        BOOST_REQUIRE(setsockopt(made.get(), SOL_IP, IP_TRANSPARENT, &on, sizeof on) == 0);
    }
    BOOST_REQUIRE_MESSAGE(::bind(made.get(), here.get(), here.size) == 0,
                          fmt::format("bind {} port {}", address, port));
    return made;
}

bool is_readable(int fd) {
    pollfd waits{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&waits, 1, 50) > 0;
}

// Answers until it is taken down.
class Server {
  public:
    Server(const Setup& setup, const std::string& address, const std::string& netns)
        : talk_(setup.talk),
          socket_(socket_in(netns, address, setup.server_port,
                            setup.talk == Talk::kTcp ? SOCK_STREAM : SOCK_DGRAM,
                            setup.transparent)) {
        if (talk_ == Talk::kTcp) {
            BOOST_REQUIRE(listen(socket_.get(), 16) == 0);
        }
        if (talk_ == Talk::kUdpOther) {
            other_ = socket_in(netns, address, 0, SOCK_DGRAM);
        }
        thread_ = std::thread([this] { talk_ == Talk::kTcp ? connections() : datagrams(); });
    }
    Server(const Server&) = delete;
    ~Server() {
        over_ = true;
        thread_.join();
    }

  private:
    void datagrams() {
        std::vector<char> buffer(65536);
        while (!over_) {
            if (!is_readable(socket_.get())) {
                continue;
            }
            End from{.size = sizeof(sockaddr_storage)};
            const ssize_t got = recvfrom(socket_.get(), buffer.data(), buffer.size(), 0,
                                         reinterpret_cast<sockaddr*>(&from.storage), &from.size);
            if (got > 0 && (talk_ != Talk::kUdpRare || buffer[0] == kWantsAnswer)) {
                const int by = talk_ == Talk::kUdpOther ? other_.get() : socket_.get();
                (void)sendto(by, buffer.data(), static_cast<std::size_t>(got), 0, from.get(),
                             from.size);
            }
        }
    }

    void connections() {
        while (!over_) {
            if (!is_readable(socket_.get())) {
                continue;
            }
            const Fd peer(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            std::vector<char> buffer(65536);
            while (!over_ && peer.get() >= 0) {
                if (!is_readable(peer.get())) {
                    continue;
                }
                const ssize_t got = recv(peer.get(), buffer.data(), buffer.size(), 0);
                if (got <= 0) {
                    break;
                }
                (void)send(peer.get(), buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
            }
        }
    }

    Talk talk_;
    Fd socket_, other_;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

// The client's end of one flow.
class Client {
  public:
    Client(const Setup& setup, const std::string& netns, std::uint16_t port)
        : setup_(setup),
          socket_(socket_in(netns, setup.client, port,
                            setup.talk == Talk::kTcp ? SOCK_STREAM : SOCK_DGRAM)) {
        if (setup.talk != Talk::kUdpOther) {
            const End there = end_of(setup.called, setup.called_port);
            connected_ = connect(socket_.get(), there.get(), there.size) == 0;
        }
    }

    bool connected() const { return connected_; }

    // Asks once, and says whether the whole answer came.
    bool exchange() {
        const bool wants_answer = setup_.talk != Talk::kUdpRare || ++number_ % kRare == 0;
        std::vector<char> question(setup_.bytes, wants_answer ? kWantsAnswer : 'q');
        if (setup_.talk == Talk::kUdpOther) {
            question[0] = 0;  // a request to read, of TFTP
            question[1] = 1;
        }
        if (setup_.talk == Talk::kUdpOther) {
            const End there = end_of(setup_.called, setup_.called_port);
            (void)sendto(socket_.get(), question.data(), question.size(), 0, there.get(),
                         there.size);
        } else if (send(socket_.get(), question.data(), question.size(), MSG_NOSIGNAL) !=
                   static_cast<ssize_t>(question.size())) {
            return false;
        }
        if (!wants_answer) {
            return true;
        }
        std::vector<char> answer(65536);
        for (std::size_t left = setup_.bytes; left != 0;) {
            const ssize_t got = recv(socket_.get(), answer.data(), answer.size(), 0);
            if (got <= 0) {
                return false;
            }
            left -= std::min(left, static_cast<std::size_t>(got));
        }
        return true;
    }

  private:
    const Setup& setup_;
    Fd socket_;
    bool connected_ = true;
    unsigned number_ = 0;
};

// One `inspect why`, from its start on.
class Asked {
  public:
    Asked(const std::string& netns, std::string flow)
        : netns_(netns), flow_(std::move(flow)), child_(start(netns, flow_)) {}

    // Waits until the command reports that it watches.
    void wait() { said_ = read_until("watching"); }

    // Reads the command's result at its end, and judges it.
    void judge(const std::string& name) {
        said_ += read_until("");
        std::string out;
        char buffer[4096];
        for (ssize_t got; (got = read(child_.socket(), buffer, sizeof buffer)) > 0;) {
            out.append(buffer, static_cast<std::size_t>(got));
        }
        const std::string status = child_.stop();
        BOOST_TEST_CONTEXT(name << ", asked in " << netns_ << " of " << flow_ << ":\n"
                                << out << said_) {
            const auto lines = process::lines_of(out);
            BOOST_TEST_REQUIRE(!lines.empty());
            const json last = json::parse(lines.back());
            BOOST_TEST(last.value("health", "") == "healthy");
            BOOST_TEST(last.at("cause").is_null());
            BOOST_TEST(status == "exit status 0");
        }
    }

  private:
    static process::Child start(const std::string& netns, const std::string& flow) {
        auto child = process::Child::start({std::getenv("PATHPROOF"), "inspect", "why", flow,
                                            "--netns", netns, "--json", "--duration", kWatchFor_s},
                                           {.keep_errors = true});
        BOOST_REQUIRE(child);
        return std::move(*child);
    }

    std::string read_until(const std::string& word) {
        std::string said;
        char buffer[512];
        while (word.empty() || said.find(word) == std::string::npos) {
            const ssize_t got = read(child_.errors(), buffer, sizeof buffer);
            if (got <= 0) {
                break;
            }
            said.append(buffer, static_cast<std::size_t>(got));
        }
        return said;
    }

    std::string netns_, flow_, said_;
    process::Child child_;
};

class SetupLab {
  public:
    explicit SetupLab(const Setup& setup) : setup_(setup) {
        for (const monitor::lab::Step& step : setup.steps) {
            std::string script = "set -e\n" + step.script;
            for (const auto& [word, space] :
                 {std::pair{"{c}", &client_}, {"{n}", &node_}, {"{s}", &server_}}) {
                for (std::size_t at; (at = script.find(word)) != std::string::npos;) {
                    script.replace(at, 3, space->name());
                }
            }
            space(step.where).run({"sh", "-c", script});
        }
        if (setup.talk != Talk::kIcmp) {
            for (const std::string& address : setup.servers) {
                servers_.push_back(
                    std::make_unique<Server>(setup, address, space(setup.server_in).name()));
            }
        }
        // Neighbours are found, and addresses of IPv6 are no more tentative.
        warm_up();
    }

    void run() {
        // Ask from before the first packet to behind the last one, then in the midst of a flow.
        if (asks_all()) {
            auto asked = ask(40'000);
            talk(40'000, nullptr);
            judge(asked);
        }
        std::atomic<bool> over = false;
        auto talks = std::async(std::launch::async, [&] { talk(40'001, &over); });
        std::this_thread::sleep_for(200ms);
        {
            auto asked = ask(40'001);
            judge(asked);
        }
        over = true;
        talks.get();
        for (const char* command : {"stale", "hazards"}) {
            const auto said = process::run_program(
                {std::getenv("PATHPROOF"), "inspect", command, "--netns", node_.name()});
            BOOST_REQUIRE(said);
            // 3: something is not decided.
            BOOST_CHECK_MESSAGE((said->exit_status == 0 || said->exit_status == 3),
                                setup_.name << ", " << command << ":\n"
                                            << said->out << said->err);
        }
    }

  private:
    static bool asks_all() {
        const char* const observers = std::getenv("PATHPROOF_OBSERVERS");
        return observers != nullptr && std::string_view(observers) == "all";
    }

    const netfilter::lab::Namespace& space(char which) const {
        switch (which) {
            case 'c': return client_;
            case 'n': return node_;
            default: return server_;
        }
    }

    std::string flow(const std::string& source, std::uint16_t port, const std::string& destination,
                     std::uint16_t to) const {
        const bool is_v6 = source.find(':') != std::string::npos;
        if (setup_.talk == Talk::kIcmp) {
            return fmt::format("{} {} {} id={}", is_v6 ? "icmpv6" : "icmp", source, destination,
                               port);
        }
        return fmt::format("{} {} {}", setup_.talk == Talk::kTcp ? "tcp" : "udp",
                           frame::to_string(frame::Endpoint{*frame::parse_ip(source), port}),
                           frame::to_string(frame::Endpoint{*frame::parse_ip(destination), to}));
    }

    std::vector<std::unique_ptr<Asked>> ask(std::uint16_t port) const {
        std::vector<std::unique_ptr<Asked>> asked;
        for (const char where : setup_.watched) {
            const bool at_server = where == 's';
            if ((at_server && setup_.seen_as.empty()) || (where != 'n' && !asks_all())) {
                continue;
            }
            const std::string words =
                at_server ? flow(setup_.seen_as, port, setup_.servers[0], setup_.server_port)
                          : flow(setup_.client, port, setup_.called, setup_.called_port);
            asked.push_back(std::make_unique<Asked>(space(where).name(), words));
        }
        for (auto& one : asked) {
            one->wait();
        }
        return asked;
    }

    void judge(std::vector<std::unique_ptr<Asked>>& asked) const {
        for (auto& one : asked) {
            one->judge(setup_.name);
        }
    }

    // A conversation, or one that goes on until `over`.
    void talk(std::uint16_t port, const std::atomic<bool>* over) const {
        if (setup_.talk == Talk::kIcmp) {
            return ping(port, over != nullptr ? 200 : kExchanges, over);
        }
        Client client(setup_, space(setup_.client_in).name(), port);
        BOOST_CHECK_MESSAGE(client.connected(), setup_.name << ": no connection");
        unsigned failed = 0;
        const bool is_rare = setup_.talk == Talk::kUdpRare;
        const unsigned many = is_rare ? kExchanges * kRare : kExchanges;
        for (unsigned i = 0; over != nullptr ? !*over : i < many; ++i) {
            failed += client.exchange() ? 0 : 1;
            std::this_thread::sleep_for(is_rare ? kBetween / kRare : kBetween);
        }
        BOOST_CHECK_MESSAGE(failed == 0, setup_.name << ": " << failed << " were not answered");
    }

    void ping(std::uint16_t id, unsigned times, const std::atomic<bool>* over) const {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        for (unsigned i = 0; i < times && std::chrono::steady_clock::now() < deadline; i += 4) {
            const auto said =
                process::run_program({"ping", "-e", std::to_string(id), "-i", "0.04", "-c", "4",
                                      "-I", setup_.client, "-w", "5", setup_.called},
                                     {.netns = space(setup_.client_in).name()});
            BOOST_REQUIRE(said);
            BOOST_CHECK_MESSAGE(said->exit_status == 0, setup_.name << ": " << said->out);
            if (over != nullptr && *over) {
                return;
            }
        }
    }

    void warm_up() const {
        if (setup_.talk == Talk::kIcmp) {
            return ping(39'000, 4, nullptr);
        }
        bool answered = false;
        for (std::uint16_t port = 39'000; port < 39'005 && !answered; ++port) {
            Client client(setup_, space(setup_.client_in).name(), port);
            for (unsigned i = 0; i < kRare && client.connected(); ++i) {
                answered = client.exchange() || answered;
            }
        }
        BOOST_REQUIRE_MESSAGE(answered, setup_.name << ": the set-up is not healthy");
    }

    const Setup& setup_;
    netfilter::lab::Namespace client_{"hc"}, node_{"hn"}, server_{"hs"};
    std::vector<std::unique_ptr<Server>> servers_;
};

bool kernel_has(const std::string& kind) {
    if (kind.empty()) {
        return true;
    }
    const netfilter::lab::Namespace space("hk");
    if (kind == "ipvs") {
        const auto said = process::run_program({"ipvsadm", "-Ln"}, {.netns = space.name()});
        return said && said->exit_status == 0;
    }
    space.run("ip link add v0 type veth peer name v1");
    std::vector<std::string> words = {"ip", "link", "add", "link", "v0", "k0", "type", kind};
    if (kind == "vlan") {
        words.insert(words.end(), {"id", "5"});
    }
    if (kind == "bond") {
        words = {"ip", "link", "add", "k0", "type", "bond"};
    }
    const auto said = process::run_program(words, {.netns = space.name()});
    return said && said->exit_status == 0;
}

}  // namespace

BOOST_DATA_TEST_CASE(nobody_is_accused_of_a_healthy_flow,
                     boost::unit_test::data::make(healthy_setups()), setup) {
    const char* const only = std::getenv("PATHPROOF_SETUPS");
    if (only != nullptr && setup.name.find(only) == std::string::npos) {
        return;
    }
    if (!kernel_has(setup.wants)) {
        fmt::print("not in this kernel: {}; in its place: {}\n", setup.name, setup.instead);
        return;
    }
    const auto began = std::chrono::steady_clock::now();
    SetupLab(setup).run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    fmt::print("{}: {:.1f} s\n", setup.name, took.count());
    (void)std::fflush(stdout);
}

// Twenty are there without what the kernel may lack.
BOOST_AUTO_TEST_CASE(twenty_setups_take_no_more_than_any_kernel_has) {
    const auto all = healthy_setups();
    BOOST_TEST(std::ranges::count(all, "", &Setup::wants) >= 20);
    for (const Setup& setup : all) {
        const bool has_substitute = std::ranges::count(all, setup.instead, &Setup::name) == 1;
        BOOST_TEST((setup.wants.empty() || has_substitute), setup.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
