// The protocol, against a scripted plug-in: what it is given, and what becomes of one that misbehaves.
#include "harness/cni/runtime.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::cni;
using namespace std::chrono_literals;

namespace {

// A folder of scripts; each appends its command and its input to "log".
class Scripts {
  public:
    Scripts() {
        char name[] = "/tmp/pathproof-cni-XXXXXX";
        folder_ = mkdtemp(name);
    }
    ~Scripts() { std::filesystem::remove_all(folder_); }
    void add(const std::string& type, const std::string& body) {
        const std::string path = folder_ + "/" + type;
        std::ofstream(path) << "#!/bin/sh\ninput=$(cat)\n"
                            << "[ $CNI_COMMAND = VERSION ] && echo '{\"supportedVersions\":"
                               "[\"0.4.0\",\"1.0.0\"]}' && exit 0\n"
                            << "echo \"" << type
                            << " $CNI_COMMAND $CNI_CONTAINERID $CNI_ARGS $input\" >> " << folder_
                            << "/log\n"
                            << body << "\n";
        chmod(path.c_str(), 0755);
    }
    std::vector<std::string> log() const {
        std::vector<std::string> lines;
        std::ifstream in(folder_ + "/log");
        for (std::string line; std::getline(in, line);) {
            lines.push_back(line);
        }
        return lines;
    }
    Runtime runtime(const std::string& plugins, const std::string& version = "1.0.0",
                    std::chrono::milliseconds patience = 5s) const {
        auto conflist = parse_conflist(
            R"({"name":"n","cniVersion":")" + version + R"(","plugins":[)" + plugins + "]}",
            "a.conflist", 1, "/data");
        BOOST_REQUIRE_MESSAGE(conflist, conflist.error().message);
        return Runtime({.plugins = folder_, .netns = "", .patience = patience}, *conflist);
    }
    const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
};

constexpr const char* kGives =
    R"(echo '{"cniVersion":"1.0.0","ips":[{"address":"10.244.1.2/24"}],"from":"one"}')";
const Attachment kPod{
    .container_id = "c1", .netns = "", .ports = {{8080, 80, "tcp"}}, .args = "K8S_POD_NAME=p"};

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(each_plugin_is_given_the_result_before_it_and_del_goes_backwards) {
    Scripts scripts;
    scripts.add("one", kGives);
    scripts.add("two", kGives);
    Runtime runtime =
        scripts.runtime(R"({"type":"one"},{"type":"two","capabilities":{"portMappings":true}})");
    BOOST_TEST(runtime.check_plugins().has_value());
    const auto added = runtime.add(kPod);
    BOOST_REQUIRE_MESSAGE(added, added.error().message);
    BOOST_TEST(runtime.check(kPod).has_value());
    BOOST_TEST(runtime.del(kPod).has_value());
    const auto log = scripts.log();
    BOOST_REQUIRE(log.size() == 6);
    BOOST_TEST(contains(log[0], "one ADD c1 K8S_POD_NAME=p"), log[0]);
    BOOST_TEST(!contains(log[0], "prevResult"), log[0]);
    BOOST_TEST(!contains(log[0], "portMappings\":[{"), log[0]);
    BOOST_TEST(contains(log[1], "two ADD"), log[1]);
    BOOST_TEST(contains(log[1], R"("prevResult":{"cniVersion":"1.0.0","from":"one")"), log[1]);
    BOOST_TEST(
        contains(log[1],
                 R"("portMappings":[{"containerPort":80,"hostPort":8080,"protocol":"tcp"}])"),
        log[1]);
    BOOST_TEST(contains(log[2], "one CHECK"));
    BOOST_TEST(contains(log[4], "two DEL"));
    BOOST_TEST(contains(log[4], "prevResult"));
    BOOST_TEST(contains(log[5], "one DEL"));
    BOOST_TEST(runtime.calls().size() == 6);
}

BOOST_AUTO_TEST_CASE(an_add_that_fails_is_told_with_its_error_object_and_undone) {
    Scripts scripts;
    scripts.add("one", kGives);
    scripts.add("bad",
                "[ $CNI_COMMAND = DEL ] && exit 0\necho 'it hurts' >&2\n"
                R"(echo '{"code":11,"msg":"try again","details":"later"}'; exit 1)");
    Runtime runtime = scripts.runtime(R"({"type":"one"},{"type":"bad"})");
    const auto added = runtime.add(kPod);
    BOOST_REQUIRE(!added);
    for (const char* words : {"ADD of bad", "code 11, \"try again\" (later)", "stderr: it hurts"}) {
        BOOST_TEST(contains(added.error().message, words), added.error().message);
    }
    const auto log = scripts.log();
    BOOST_REQUIRE(log.size() == 4);
    BOOST_TEST(contains(log[2], "bad DEL"));
    BOOST_TEST(contains(log[3], "one DEL"));
}

BOOST_AUTO_TEST_CASE(a_plugin_that_hangs_is_killed_with_what_it_started) {
    Scripts scripts;
    const std::string mark = scripts.folder() + "/alive";
    scripts.add("hangs", "[ $CNI_COMMAND = DEL ] && exit 0\n(sleep 2; touch " + mark + ") & wait");
    Runtime runtime = scripts.runtime(R"({"type":"hangs"})", "1.0.0", 300ms);
    const auto began = std::chrono::steady_clock::now();
    const auto added = runtime.add(kPod);
    BOOST_REQUIRE(!added);
    BOOST_TEST(contains(added.error().message, "did not end within 300 ms and was killed"),
               added.error().message);
    std::this_thread::sleep_until(began + 3s);
    BOOST_TEST(!std::filesystem::exists(mark));
}

BOOST_AUTO_TEST_CASE(rubbish_and_a_pod_without_an_address_are_refused) {
    Scripts scripts;
    scripts.add("rubbish", "echo 'panic: \033[31mno'");
    scripts.add("none", R"(echo '{"cniVersion":"1.0.0"}')");
    scripts.add("far", R"(echo '{"cniVersion":"1.0.0","ips":[{"address":"8.8.8.8/24"}]}')");
    scripts.add("dies", "[ $CNI_COMMAND = DEL ] || kill -SEGV $$");
    for (const auto& [type, words] : {std::pair{"rubbish", "no JSON object: panic: ?[31mno"},
                                      {"none", "the pod got no address"},
                                      {"far", "8.8.8.8 is outside"},
                                      {"dies", "without an error object"}}) {
        const auto added = scripts.runtime(fmt::format(R"({{"type":"{}"}})", type)).add(kPod);
        BOOST_REQUIRE(!added);
        BOOST_TEST(contains(added.error().message, words), added.error().message);
    }
}

BOOST_AUTO_TEST_CASE(plugins_that_are_not_there_or_speak_another_version_are_named) {
    Scripts scripts;
    scripts.add("one", kGives);
    for (const auto& [plugins, version, words] :
         {std::tuple{R"({"type":"gone"})", "1.0.0", "no plug-in 'gone' in"},
          {R"({"type":"one","ipam":{"type":"gone"}})", "1.0.0", "no plug-in 'gone' in"},
          {R"({"type":"one"})", "1.1.0", "does not speak 1.1.0; it speaks up to 1.0.0"}}) {
        const Status checked = scripts.runtime(plugins, version).check_plugins();
        BOOST_REQUIRE(!checked);
        BOOST_TEST(contains(checked.error().message, words), checked.error().message);
    }
    const auto conflist = parse_conflist(
        R"({"name":"n","cniVersion":"1.0.0","plugins":[{"type":"one"}]})", "a", 1, "/data");
    const Status none = Runtime({.plugins = "/nonexistent"}, *conflist).check_plugins();
    BOOST_REQUIRE(!none);
    BOOST_TEST(contains(none.error().message, "install containernetworking-plugins"),
               none.error().message);
}

BOOST_AUTO_TEST_CASE(an_add_can_be_killed_in_the_middle_of_the_list) {
    Scripts scripts;
    scripts.add("one", kGives);
    scripts.add("slow", "[ $CNI_COMMAND = DEL ] && exit 0\nsleep 20");
    Runtime runtime = scripts.runtime(R"({"type":"one"},{"type":"slow"})");
    const auto killed = runtime.add_killed_after(kPod, 1500ms);
    BOOST_REQUIRE_MESSAGE(killed, killed.error().message);
    BOOST_TEST((*killed == "slow" || *killed == "one"));
    BOOST_TEST(runtime.del(kPod).has_value());
}

// The plug-ins that are packaged speak up to 1.0.0: these are scripts.
BOOST_AUTO_TEST_CASE(status_and_gc_of_cni_1_1_go_through_the_list_in_order) {
    Scripts scripts;
    scripts.add("one", "[ $CNI_COMMAND = STATUS ] && exit 0\n" + std::string(kGives));
    scripts.add("busy",
                "[ $CNI_COMMAND = STATUS ] || exit 0\n"
                R"(echo '{"code":50,"msg":"no address is left"}'; exit 1)");
    Runtime runtime = scripts.runtime(R"({"type":"one"},{"type":"busy"},{"type":"one"})", "1.1.0");
    const Status status = runtime.status();
    BOOST_REQUIRE(!status);
    BOOST_TEST((status.error().code == ErrorCode::kUnavailable));
    BOOST_TEST(contains(status.error().message, "STATUS of busy"), status.error().message);
    BOOST_TEST(contains(status.error().message, "code 50, \"no address is left\""),
               status.error().message);
    BOOST_TEST(runtime.gc({kPod}).has_value());
    const auto log = scripts.log();
    BOOST_REQUIRE(log.size() == 5);
    // STATUS is called without any data of a pod.
    BOOST_TEST(contains(log[0], "one STATUS  "), log[0]);
    BOOST_TEST(!contains(log[0], "valid-attachments"), log[0]);
    BOOST_TEST(contains(log[2], "one GC  "), log[2]);
    for (const std::string& line : {log[2], log[3], log[4]}) {
        BOOST_TEST(
            contains(line, R"("cni.dev/valid-attachments":[{"containerID":"c1","ifname":"eth0"}])"),
            line);
        BOOST_TEST(!contains(line, "prevResult"), line);
    }
}

BOOST_AUTO_TEST_CASE(gc_goes_on_after_a_plugin_that_fails_and_lists_may_not_want_it) {
    Scripts scripts;
    scripts.add("bad", R"(echo '{"code":11,"msg":"no"}'; exit 1)");
    Runtime runtime = scripts.runtime(R"({"type":"bad"},{"type":"bad"})", "1.1.0");
    const Status done = runtime.gc({});
    BOOST_REQUIRE(!done);
    BOOST_TEST(scripts.log().size() == 2U);
    for (Runtime& old : std::vector{scripts.runtime(R"({"type":"bad"})", "1.0.0"),
                                    scripts.runtime(R"({"type":"bad"})", "0.4.0")}) {
        for (const Status& asked : {old.status(), old.gc({})}) {
            BOOST_REQUIRE(!asked);
            BOOST_TEST((asked.error().code == ErrorCode::kNotSupported));
            BOOST_TEST(contains(asked.error().message, "is of CNI 1.1.0, and a.conflist is of "),
                       asked.error().message);
        }
    }
    const auto conflist = parse_conflist(
        R"({"name":"n","cniVersion":"1.1.0","disableGC":true,"plugins":[{"type":"bad"}]})", "a", 1,
        "/data");
    BOOST_REQUIRE(conflist);
    const Status unwanted = Runtime({.plugins = scripts.folder()}, *conflist).gc({});
    BOOST_REQUIRE(!unwanted);
    BOOST_TEST(contains(unwanted.error().message, "disableGC"), unwanted.error().message);
}

BOOST_AUTO_TEST_CASE(results_are_kept_as_libcni_keeps_them_until_del) {
    Scripts scripts;
    scripts.add("one", kGives);
    const auto conflist = parse_conflist(
        R"({"name":"n","cniVersion":"1.0.0","plugins":[{"type":"one"}]})", "a", 1, "/data");
    Runtime runtime({.plugins = scripts.folder(), .netns = "", .cache = scripts.folder()},
                    *conflist);
    Attachment pod = kPod;
    pod.args = "IgnoreUnknown=1;K8S_POD_NAME=p";
    BOOST_REQUIRE(runtime.add(pod));
    std::ifstream file(scripts.folder() + "/n-c1-eth0");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const char* words :
         {R"("kind":"cniCacheV1")", R"("cniArgs":[["IgnoreUnknown","1"],["K8S_POD_NAME","p"]])",
          R"("result":{"cniVersion":"1.0.0","from":"one","ips":[{"address":"10.244.1.2/24"}]})"}) {
        BOOST_TEST(contains(text, words), text);
    }
    BOOST_TEST(runtime.del(pod).has_value());
    BOOST_TEST(!std::filesystem::exists(scripts.folder() + "/n-c1-eth0"));
}
