#include "tests/scenario/offload_paths.h"

// clang-format off: <linux/pkt_cls.h> has macros of the names that Boost gives its parameters.
#include <boost/test/unit_test.hpp>
// clang-format on

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

#include "harness/process/netns.h"
#include "tests/scenario/lab_run.h"

using namespace pathproof;
using nlohmann::json;

namespace {

std::string run_in(const std::string& netns, const std::string& command) {
    const auto done = process::run_checked({"sh", "-c", command}, {.netns = netns});
    BOOST_REQUIRE_MESSAGE(done, command << ": " << (done ? "" : done.error().message));
    return *done;
}

std::function<Kept(const Cable&)> in_dut(const std::string& command) {
    return [command](const Cable& cable) -> Kept {
        run_in(cable.dut, command);
        return {};
    };
}
std::function<Kept(const Cable&)> in_far(const std::string& command) {
    return [command](const Cable& cable) -> Kept {
        run_in(cable.far, command);
        return {};
    };
}

std::function<Kept(const Cable&)> with_mtu(const std::string& of_dut, const std::string& of_far) {
    return [=](const Cable& cable) -> Kept {
        cable.mtu(of_dut, of_far);
        return {};
    };
}

// A program of two instructions: pass every frame.
std::shared_ptr<void> attach_xdp(const std::string& netns, const std::string& device,
                                 std::uint32_t flags) {
    bpf_insn answer{};
    answer.code = BPF_ALU64 | BPF_MOV | BPF_K;
    answer.imm = XDP_PASS;
    bpf_insn end{};
    end.code = BPF_JMP | BPF_EXIT;
    const bpf_insn program[] = {answer, end};
    const int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pass_all", "GPL", program, 2, nullptr);
    BOOST_REQUIRE(fd >= 0);
    const auto done = process::in_netns(netns, [&]() -> Status {
        const int index = static_cast<int>(if_nametoindex(device.c_str()));
        BOOST_REQUIRE(bpf_xdp_attach(index, fd, flags, nullptr) == 0);
        return {};
    });
    BOOST_REQUIRE(done);
    close(fd);
    return {};
}

// A program of the classifier that drops IPv6. Kernels have cls_bpf more often than others.
Kept drop_ipv6(const std::string& netns, const std::string& device, bpf_tc_attach_point where) {
    bpf_insn load{};
    load.code = BPF_LDX | BPF_MEM | BPF_W;
    load.dst_reg = BPF_REG_2;
    load.src_reg = BPF_REG_1;
    load.off = offsetof(__sk_buff, protocol);
    bpf_insn pass{};
    pass.code = BPF_ALU64 | BPF_MOV | BPF_K;
    bpf_insn skip{};
    skip.code = BPF_JMP | BPF_JNE | BPF_K;
    skip.dst_reg = BPF_REG_2;
    skip.off = 1;
    skip.imm = htons(ETH_P_IPV6);
    bpf_insn drop = pass;
    drop.imm = TC_ACT_SHOT;
    bpf_insn end{};
    end.code = BPF_JMP | BPF_EXIT;
    const bpf_insn program[] = {load, pass, skip, drop, end};
    const int fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "drop_ipv6", "GPL", program, 5, nullptr);
    BOOST_REQUIRE(fd >= 0);
    const auto done = process::in_netns(netns, [&]() -> Status {
        bpf_tc_hook hook{};
        hook.sz = sizeof hook;
        hook.ifindex = static_cast<int>(if_nametoindex(device.c_str()));
        hook.attach_point = where;
        bpf_tc_opts opts{};
        opts.sz = sizeof opts;
        opts.prog_fd = fd;
        BOOST_REQUIRE(bpf_tc_hook_create(&hook) == 0);
        BOOST_REQUIRE(bpf_tc_attach(&hook, &opts) == 0);
        return {};
    });
    BOOST_REQUIRE(done);
    close(fd);
    return {};
}

// A packet socket that takes everything and is seldom read, as a capture beside the run.
std::shared_ptr<void> capture(const std::string& netns, const std::string& device) {
    int opened = -1;
    const auto done = process::in_netns(netns, [&]() -> Status {
        opened = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(ETH_P_ALL);
        address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
        BOOST_REQUIRE(bind(opened, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        return {};
    });
    BOOST_REQUIRE(done);
    return {new int(opened), [](void* fd) {
                close(*static_cast<int*>(fd));
                delete static_cast<int*>(fd);
            }};
}

// Threads that never rest, two a CPU.
std::shared_ptr<void> busy_cpus() {
    struct Busy {
        std::atomic<bool> stop = false;
        std::vector<std::thread> threads;
        ~Busy() {
            stop = true;
            for (std::thread& thread : threads) {
                thread.join();
            }
        }
    };
    auto busy = std::make_shared<Busy>();
    for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
        busy->threads.emplace_back([raw = busy.get()] {
            while (!raw->stop) {
            }
        });
    }
    return busy;
}

std::vector<PathEnvironment> make_environments() {
    std::vector<PathEnvironment> all = {
        {"as made", in_dut("true")},
        {"far end: GRO", in_far("ethtool -K u0 gro on")},
        {"far end: GRO, forwarding UDP", in_far("ethtool -K u0 gro on rx-udp-gro-forwarding on")},
        {"far end: GRO lists", in_far("ethtool -K u0 gro on rx-gro-list on")},
        {"far end: tx off", in_far("ethtool -K u0 tx off")},
        {"far end: rx off", in_far("ethtool -K u0 rx off")},
        {"far end: XDP program",
         [](const Cable& cable) -> Kept {
             return {attach_xdp(cable.far, "u0", XDP_FLAGS_DRV_MODE)};
         }},
        {"far end: generic XDP program",
         [](const Cable& cable) -> Kept {
             return {attach_xdp(cable.far, "u0", XDP_FLAGS_SKB_MODE)};
         }},
        {"device: XDP program",
         [](const Cable& cable) -> Kept {
             return {attach_xdp(cable.dut, "e0", XDP_FLAGS_DRV_MODE)};
         }},
        {.name = "far end: small ring",
         .set = in_dut("true"),
         .status = PathEnvironment::kClearOrLossy,
         .options = {"--tester", "net_af_packet,iface=u0,framecnt=64,framesz=4096,blocksz=65536"}},
    };
    for (const char* mtu : {"1280", "1400", "1450", "1499", "2000", "4000", "9000"}) {
        static std::vector<std::string> names;
        names.reserve(16);
        names.push_back(std::string("MTU ") + mtu);
        all.push_back({names.back().c_str(), with_mtu(mtu, mtu)});
    }
    const std::vector<PathEnvironment> more = {
        {"MTU 1500, far end 1400", with_mtu("1500", "1400")},
        {"MTU 1400, far end 9000", with_mtu("1400", "9000")},
        {"filter: INPUT DROP", in_dut("iptables -P INPUT DROP"), 3, "NETFILTER_DROP"},
        {"filter: prerouting drops UDP",
         in_dut("iptables -t raw -A PREROUTING -p udp -m length --length 28 -j DROP"), 3,
         "NETFILTER_DROP"},
        {"filter: tc egress of the device",
         [](const Cable& cable) { return drop_ipv6(cable.dut, "e0", BPF_TC_EGRESS); }, 3,
         "TC_EGRESS"},
        {"filter: tc ingress of the far end",
         [](const Cable& cable) { return drop_ipv6(cable.far, "u0", BPF_TC_INGRESS); }},
        {"bridge above the far end",
         in_far("ip link add br0 type bridge; ip link set u0 master br0; ip link set br0 up")},
        {"macvlan above the device",
         in_dut("ip link add mv0 link e0 type macvlan mode bridge; ip link set mv0 up")},
        {"vxlan above the device",
         in_dut(
             "ip link add vx0 type vxlan id 7 dev e0 remote 198.18.9.9 dstport 4789; ip link set "
             "vx0 up")},
        {"busy CPUs", [](const Cable&) -> Kept { return {busy_cpus()}; }},
        {"promiscuous",
         [](const Cable& cable) -> Kept {
             run_in(cable.dut, "ip link set e0 promisc on");
             run_in(cable.far, "ip link set u0 promisc on");
             return {};
         }},
        {"captures beside it",
         [](const Cable& cable) -> Kept {
             return {capture(cable.dut, "e0"), capture(cable.far, "u0")};
         },
         PathEnvironment::kClearOrLossy},
        {"test addresses",
         [](const Cable& cable) -> Kept {
             run_in(cable.dut, "ip address add 198.18.200.1/24 dev e0");
             run_in(cable.far, "ip address add 198.18.200.2/24 dev u0");
             return {};
         }},
        {"without IPv6", in_dut("sysctl -qw net.ipv6.conf.all.disable_ipv6=1")},
    };
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

Cable::Cable(Between between)
    : dut(fmt::format("pp-path-dut-{}", getpid())), far(fmt::format("pp-path-far-{}", getpid())) {
    run_in("", "ip netns add " + dut);
    run_in("", "ip netns add " + far);
    const std::string link = "ip link add {} netns {} type veth peer name {} netns {}";
    if (between == Between::kNothing) {
        run_in("", fmt::format(fmt::runtime(link), "e0", dut, "u0", far));
    } else {
        middle = fmt::format("pp-path-mid-{}", getpid());
        run_in("", "ip netns add " + middle);
        run_in("", fmt::format(fmt::runtime(link), "e0", dut, "m0", middle));
        run_in("", fmt::format(fmt::runtime(link), "m1", middle, "u0", far));
        run_in(middle,
               "sysctl -qw net.ipv6.conf.all.disable_ipv6=1; ip link set m0 up; "
               "ip link set m1 up");
    }
    run_in(dut, "ip link set e0 up");
    run_in(far, "ip link set u0 arp off up");
}

Cable::~Cable() {
    for (const std::string& netns : {dut, far, middle}) {
        if (!netns.empty()) {
            static_cast<void>(process::run_program({"ip", "netns", "delete", netns}));
        }
    }
}

void Cable::mtu(const std::string& of_dut, const std::string& of_far) const {
    if (has_middle()) {
        run_in(middle, "ip link set m0 mtu 9000; ip link set m1 mtu 9000");
    }
    run_in(dut, "ip link set e0 mtu " + of_dut);
    run_in(far, "ip link set u0 mtu " + of_far);
}

const std::vector<PathEnvironment>& path_environments() {
    static const std::vector<PathEnvironment> all = make_environments();
    return all;
}

const PathEnvironment& path_environment(const std::string& name) {
    const auto found = std::ranges::find_if(
        path_environments(), [&](const PathEnvironment& each) { return each.name == name; });
    BOOST_REQUIRE_MESSAGE(found != path_environments().end(), name);
    return *found;
}

PathRun check_over(const Cable& cable, const PathEnvironment& environment) {
    std::vector<std::string> words = {"offload", "check",  "e0", "--netns", cable.dut,
                                      "--quick", "--seed", "7",  "--json"};
    std::vector<std::string> tester = environment.options;
    if (tester.empty() && cable.has_middle()) {
        tester = {"--tester", "u0"};
    }
    if (!tester.empty()) {
        tester.insert(tester.end(), {"--tester-netns", cable.far});
    }
    words.insert(words.end(), tester.begin(), tester.end());
    const auto began = std::chrono::steady_clock::now();
    const auto done = pathproof_run(words);
    PathRun run{.status = done.exit_status, .err = done.err};
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    run.report = json::parse(done.out, nullptr, false);
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), environment.name << ": " << done.err);
    run.scenario = scenario_named(run.report, "offload-truth");
    return run;
}
