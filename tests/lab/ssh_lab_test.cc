// Scenarios on a DUT whose only way in is SSH: a real server with keys of its own, in the DUT's
// namespace, and the controller in another one.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/agent/client.h"
#include "harness/agent/host_change.h"
#include "harness/process/child.h"
#include "harness/process/program.h"
#include "harness/process/ssh.h"
#include "tests/lab/site.h"
#include "tests/lab/support.h"

using namespace pathproof;
using namespace pathproof::lab;
using agent::HostChange;
using nlohmann::json;

namespace {

// The far end of a cable that the lab file does not name.
constexpr const char* kWayIn = R"(
ip netns add site-admin
ip link add admin netns site-admin type veth peer name mgmt netns site-dut
ip -n site-admin address add 192.0.2.1/30 dev admin; ip -n site-admin link set admin up
ip -n site-dut address add 192.0.2.2/30 dev mgmt; ip -n site-dut link set mgmt up
mkdir -p /run/sshd
)";

// In the folder of the site, whose path follows as $0.
constexpr const char* kKeys = R"sh(
cd "$0"
for key in host user stranger; do ssh-keygen -q -t ed25519 -N '' -f $key; done
cp user.pub authorized_keys
echo "192.0.2.2 $(cat host.pub)" >known_hosts
cat >sshd_config <<END
ListenAddress 192.0.2.2
HostKey $0/host
AuthorizedKeysFile $0/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
Banner $0/banner
END
printf 'Beware: \033[31mof the leopard\n' >banner
cat >ssh_config <<END
Host dut
  HostName 192.0.2.2
  User root
  IdentityFile $0/user
  IdentitiesOnly yes
  UserKnownHostsFile $0/known_hosts
  GlobalKnownHostsFile none
END
)sh";

class Sshd : public Forked {
  public:
    explicit Sshd(const std::string& config)
        : Forked([config](const Say&) {
              execl("/bin/ip", "ip", "netns", "exec", "site-dut", "/usr/sbin/sshd", "-D", "-f",
                    config.c_str(), "-E", (config + ".log").c_str(), nullptr);
              _exit(99);
          }) {}
};

bool waited_for(const std::function<bool()>& state) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!state()) {
        if (std::chrono::steady_clock::now() > until) {
            return false;
        }
        usleep(200'000);
    }
    return true;
}

bool is_listening() {
    return shell("site-dut", "ss -Hltn 'sport = :22'") != "";
}

// Folders of copied programs.
bool has_copies(const std::string& run = "/run") {
    return shell_status("", "ls -d " + run + "/pathproof-agent.* 2>/dev/null") == 0;
}

class SshSite {
  public:
    SshSite() : site_(kWayIn) {
        const auto made = process::run_checked({"sh", "-ec", kKeys, folder()});
        BOOST_REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
        use(binary_path());
        start("");
    }
    ~SshSite() {
        shell_status("", "ip netns pids site-dut | xargs -r kill; ip netns del site-admin");
    }

    const Site& site() const { return site_; }
    std::string folder() const { return site_.folder(); }
    // `more`: lines for the server's configuration.
    void start(const std::string& more) {
        server_.reset();
        BOOST_REQUIRE(waited_for([] { return !is_listening(); }));
        std::ofstream(folder() + "/sshd_config", std::ios::app) << more;
        server_ = std::make_unique<Sshd>(folder() + "/sshd_config");
        BOOST_REQUIRE(waited_for(is_listening));
    }
    // The lab file, with this program on the DUT.
    void use(const std::string& program) const {
        const std::string netns = "netns = \"site-dut\"";
        std::string text = kSiteFile;
        text.replace(
            text.find(netns), netns.size(),
            fmt::format("ssh = \"dut\"\nssh_config = \"ssh_config\"\nprogram = \"{}\"", program));
        std::ofstream(site_.file()) << text;
    }
    // Runs as a user of the machine that has no other way.
    Site::Run run(const std::string& words) const { return site_.run(words, "site-admin"); }
    void in_folder(const std::string& command) const {
        shell("", "cd " + folder() + " && " + command);
    }

  private:
    Site site_;
    std::unique_ptr<Sshd> server_;
};

const std::string kShort = "repro snat-race --lab site.toml --no-hugepages --seed 7 --pairs 100";
const std::string kLong =
    "repro dns-race --lab site.toml --no-hugepages --seed 7 --pairs 500 --cells 'late-answer.*'";

}  // namespace

BOOST_AUTO_TEST_CASE(scenarios_of_every_role_run_over_ssh) {
    const SshSite dut;
    const auto run = dut.run(
        "qualify --lab site.toml --no-hugepages --seed 7 --pairs 200 --out report --only "
        "vxlan-checksum,snat-race,offload-truth,stale-udp");
    const json report = dut.site().report("report");
    BOOST_REQUIRE_MESSAGE(report.is_object(), run.said);
    BOOST_TEST(scenario_of(report, "stale-udp")["verdict"] == "REPRODUCED");
    BOOST_TEST(scenario_of(report, "snat-race")["verdict"] == "REPRODUCED");
    BOOST_TEST(scenario_of(report, "vxlan-checksum")["verdict"] == "REPRODUCED");
    const json truth = scenario_of(report, "offload-truth");
    BOOST_TEST(truth["verdict"] == "NO DEFECT FOUND", truth["headline"]);
    BOOST_TEST(contains(truth["headline"].dump(), "d0 (veth in the DUT)"), truth["headline"]);
    const auto put_back = [](const json& cell) {
        return contains(cell["id"], "flags-put-back") && cell["verdict"] == "PASS";
    };
    BOOST_TEST(std::ranges::count_if(truth["cells"], put_back) == 3);
    BOOST_TEST(contains(report["environment"].dump(), "DUT: another machine, over SSH"));
    BOOST_TEST(report["evidence_class"] == "virtual");
    BOOST_TEST((run.status == 0 || run.status == 1), run.said);
    BOOST_TEST(!contains(run.said, "copied"), run.said);
    BOOST_TEST(dut.site().changed(20'000) == "");
}

BOOST_AUTO_TEST_CASE(no_way_in_is_one_sentence_with_the_words_of_ssh) {
    const SshSite dut;
    const auto refused = [&](const std::string& change, const std::string& what,
                             const std::string& words, const std::string& back) {
        dut.in_folder(change);
        const auto run = dut.run(kShort);
        BOOST_TEST(run.status == 2, run.said);
        BOOST_TEST(contains(run.said, "site.toml: no way in to dut: " + what), run.said);
        BOOST_TEST(contains(run.said, "-F"), run.said);
        BOOST_TEST(contains(run.said, words), run.said);
        BOOST_TEST(!contains(run.said, "\033"), run.said);
        dut.in_folder(back);
    };
    const std::string keep = "cp known_hosts kept; ";
    refused(keep + "echo \"192.0.2.2 $(cat stranger.pub)\" >known_hosts",
            "its host key is not the one that is known", "HOST IDENTIFICATION HAS CHANGED",
            "mv kept known_hosts");
    refused(keep + ": >known_hosts", "its host key is not known yet",
            "Host key verification failed", "mv kept known_hosts");
    refused("cp stranger.pub authorized_keys", "it refuses the user or the keys",
            "Permission denied (publickey", "cp user.pub authorized_keys");
    refused("sed -i s/192.0.2.2$/192.0.2.9/ ssh_config", "it cannot be reached", "192.0.2.9",
            "sed -i s/192.0.2.9$/192.0.2.2/ ssh_config");
    // The session itself, too, is in use.
    dut.in_folder("sed -i 's/name = \"ds\"/name = \"mgmt\"/' site.toml");
    const auto run = dut.run(kShort);
    BOOST_TEST(run.status == 2, run.said);
    BOOST_TEST(contains(run.said, "DUT device mgmt is refused: it carries an SSH session"),
               run.said);
    BOOST_TEST(dut.site().changed() == "");
}

BOOST_AUTO_TEST_CASE(where_there_is_no_program_it_is_copied_and_goes_again) {
    const SshSite dut;
    dut.use("/no/such/pathproof");
    auto run = dut.run(kShort + " --out report");
    BOOST_TEST((run.status == 0 || run.status == 1), run.said);
    BOOST_TEST(
        contains(run.said, "dut: '/no/such/pathproof' does not run there; it was copied there"),
        run.said);
    BOOST_TEST(scenario_of(dut.site().report("report"), "snat-race")["verdict"] == "REPRODUCED");
    BOOST_TEST(waited_for([] { return !has_copies(); }));
    BOOST_TEST(dut.site().changed(20'000) == "");

    // A controller that is stopped or killed: what is on the DUT goes by itself.
    for (const int signal : {SIGINT, SIGKILL}) {
        Started stopped(kLong, dut.folder(), "site-admin");
        BOOST_TEST(waited_for([&] { return dut.site().changed(0) != ""; }));
        BOOST_TEST(has_copies());
        stopped.signal(signal);
        BOOST_TEST(stopped.wait() == (signal == SIGINT ? 3 : 128 + SIGKILL));
        BOOST_TEST(waited_for([] { return !has_copies(); }));
        shell_status("", binary_path() + " restore");
        BOOST_TEST(dut.site().changed(20'000) == "");
    }
}

BOOST_AUTO_TEST_CASE(a_lost_connection_makes_the_run_incomplete) {
    const SshSite dut;
    Started run(kLong + " --out report", dut.folder(), "site-admin");
    // Both agents are there by then: the one of the host, and that in the run's namespace.
    BOOST_REQUIRE(waited_for(
        [&] { return contains(read_file(dut.folder() + "/said").value_or(""), "late-answer."); }));
    shell("",
          "ip netns pids site-admin | xargs ps -o pid=,comm= -p | awk '$2==\"ssh\"{print $1}' | "
          "xargs kill -9");
    BOOST_TEST(run.wait() == 3);
    const std::string said = read_file(dut.folder() + "/said").value_or("");
    BOOST_TEST(contains(said, "agent on dut"), said);
    BOOST_TEST(contains(said, "signal 9"), said);
    BOOST_TEST(dut.site().changed(20'000) == "");
}

BOOST_AUTO_TEST_CASE(what_is_said_before_the_agent_speaks_is_passed_over_within_bounds) {
    const SshSite dut;
    const auto program = [&](const std::string& first) {
        std::ofstream(dut.folder() + "/noisy") << "#!/bin/sh\n" << first << "\n";
        dut.in_folder("chmod 755 noisy");
        dut.use(dut.folder() + "/noisy");
        return dut.run(kShort + " --out report");
    };
    auto run =
        program(fmt::format("echo Welcome; echo '{{\"id\":77}}'; exec {} \"$@\"", binary_path()));
    BOOST_TEST((run.status == 0 || run.status == 1), run.said);
    run = program("yes '<script>'");
    BOOST_TEST(run.status == 3, run.said);
    BOOST_TEST(contains(run.said, "said more than 1048576 bytes that are no answers"), run.said);
    run = program("read asked; echo '{\"id\":1,\"ok\":{\"agent\":\"another\"}}'; cat");
    BOOST_TEST(run.status == 3, run.said);
    BOOST_TEST(contains(run.said, "it is no pathproof agent"), run.said);
    BOOST_TEST(dut.site().changed() == "");
}

BOOST_AUTO_TEST_CASE(the_copy_runs_where_there_is_a_shell_and_tar_and_nothing_else) {
    SshSite dut;
    const std::string root = "/run/site-root";
    shell("", "set -e; mkdir -m 755 " + root + "; cd " + root +
                  "; mkdir -p bin dev proc run; mkdir -m 1777 tmp; mknod dev/null c 1 3; "
                  "mount -t proc proc proc; cp /bin/busybox bin/; "
                  "for name in sh uname mktemp dd tar rm chmod; do ln -s busybox bin/$name; done; "
                  "printf '#!/bin/sh\\nexec /bin/sh \"$@\"\\n' >bin/bash; chmod 755 bin/bash");
    dut.start("ChrootDirectory " + root + "\n");
    dut.in_folder("echo '  ProxyCommand ip netns exec site-admin nc 192.0.2.2 22' >>ssh_config");
    auto there = agent::Client::start_over_ssh({"dut", dut.folder() + "/ssh_config"}, "pathproof");
    BOOST_REQUIRE_MESSAGE(there, there.error().message);
    agent::Client& client = **there;
    BOOST_TEST(client.hello().copied == "'pathproof' does not run there");
    BOOST_TEST(client.hello().kernel == shell("", "uname -srm | tr -d '\\n'"));
    BOOST_TEST(has_copies(root + "/run"));
    const auto features = client.features("d0");
    BOOST_REQUIRE_MESSAGE(features, features.error().message);
    BOOST_TEST(!features->empty());
    // A change needs a program that the host does not have.
    const Status missing = client.apply({{.kind = HostChange::Kind::kIp,
                                          .device = "d0",
                                          .value = "address add 198.18.0.9/24 dev d0",
                                          .undo = "address delete 198.18.0.9/24 dev d0"}});
    BOOST_REQUIRE(!missing);
    BOOST_TEST(contains(missing.error().message, "program 'ip' cannot be run"),
               missing.error().message);
    BOOST_TEST(contains(missing.error().message, "is its package installed? (Debian's iproute2)"));
    there->reset();
    BOOST_TEST(waited_for([&] { return !has_copies(root + "/run"); }));
    shell("", "cd " + root + " && rmdir tmp && rm -r run");
    const auto without =
        agent::Client::start_over_ssh({"dut", dut.folder() + "/ssh_config"}, "pathproof");
    BOOST_REQUIRE(!without);
    BOOST_TEST(contains(without.error().message, "a copy of this program does not run on dut"),
               without.error().message);
    BOOST_TEST(contains(without.error().message, "none of /run, /tmp and /var/tmp takes"),
               without.error().message);
    BOOST_TEST(dut.site().changed(20'000) == "");
    shell("", "umount " + root + "/proc; rm -r " + root);
}
