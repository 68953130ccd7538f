#include "harness/metrics/cni_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

using namespace pathproof;
using namespace pathproof::metrics;
using monitor::Pod;

namespace {

// As libcni 1.1 writes it; "config" is the base64 of the network's configuration.
std::string cached(const std::string& arguments, const std::string& result) {
    return R"({"kind":"cniCacheV1","containerId":"c1","config":"e30=","ifName":"eth0",)"
           R"("networkName":"k8s","cniArgs":)" +
           arguments + R"(,"result":)" + result + "}";
}
const std::string kArguments =
    R"([["IgnoreUnknown","1"],["K8S_POD_NAMESPACE","shop"],["K8S_POD_NAME","web-1"],)"
    R"(["K8S_POD_INFRA_CONTAINER_ID","c1"],["K8S_POD_UID","u"]])";
const std::string kResult =
    R"({"cniVersion":"1.0.0","interfaces":[{"name":"cni0"}],"ips":[{"address":"198.18.9.2/24",)"
    R"("gateway":"198.18.9.1","interface":2},{"address":"2001:db8::2/64"}],"dns":{}})";

frame::IpAddress ip(const char* text) {
    return frame::parse_ip(text).value();
}

class Folder {
  public:
    Folder() {
        char name[] = "/tmp/pathproof-cni-cache-XXXXXX";
        BOOST_REQUIRE(mkdtemp(name) != nullptr);
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    // `age_s`: so long ago.
    void put(const std::string& name, const std::string& text, time_t age_s = 0) const {
        std::ofstream(path_ + "/" + name) << text;
        timespec times[2] = {{.tv_sec = time(nullptr) - age_s, .tv_nsec = 0},
                             {.tv_sec = time(nullptr) - age_s, .tv_nsec = 0}};
        BOOST_REQUIRE(utimensat(AT_FDCWD, (path_ + "/" + name).c_str(), times, 0) == 0);
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_tells_the_pod_and_its_addresses_of_both_families) {
    const auto read = parse_cni_cache(cached(kArguments, kResult));
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    BOOST_TEST(read->pod.pod_namespace == "shop");
    BOOST_TEST(read->pod.name == "web-1");
    BOOST_TEST((read->addresses == std::vector{ip("198.18.9.2"), ip("2001:db8::2")}));
}

BOOST_AUTO_TEST_CASE(results_of_the_oldest_plug_ins_are_read_too) {
    const auto read = parse_cni_cache(cached(
        kArguments,
        R"({"cniVersion":"0.2.0","ip4":{"ip":"198.18.9.2/24"},"ip6":{"ip":"2001:db8::2/64"}})"));
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    BOOST_TEST(read->addresses.size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_kubernetes_did_not_attach_is_no_pod) {
    for (const char* arguments :
         {"null", "[]", R"([["K8S_POD_NAME","web-1"]])", R"([["x"],"y",3])"}) {
        const auto read = parse_cni_cache(cached(arguments, kResult));
        BOOST_REQUIRE_MESSAGE(read, read.error().message);
        BOOST_TEST(read->addresses.empty());
    }
}

BOOST_AUTO_TEST_CASE(what_is_none_of_libcnis_is_refused_with_the_key) {
    struct Case {
        std::string text;
        const char* named;
    };
    std::string many = "[";
    for (int i = 0; i < 17; ++i) {
        many += fmt::format("{}{{\"address\":\"198.18.9.{}/24\"}}", i == 0 ? "" : ",", i);
    }
    const std::string long_name =
        R"([["K8S_POD_NAMESPACE","shop"],["K8S_POD_NAME",")" + std::string(254, 'a') + R"("]])";
    for (const Case& wrong : {
             Case{"", "not an object"},
             Case{"[]", "not an object"},
             Case{R"({"kind":"cniCacheV2"})", "\"kind\""},
             Case{cached(kArguments, R"({"ips":[{"address":"198.18.9/24"}]})"), "\"address\""},
             Case{cached(kArguments, R"({"ips":[{"gateway":"198.18.9.1"}]})"), "\"address\""},
             Case{cached(kArguments, R"({"ip6":{"ip":4}})"), "\"ip6\""},
             Case{cached(kArguments, R"({"ips":)" + many + "]}"), "\"ips\""},
             Case{cached(long_name, kResult), "\"cniArgs\""},
             Case{
                 cached(R"([["K8S_POD_NAMESPACE","shop"],["K8S_POD_NAME","a\u001b[2J"]])", kResult),
                 "\"cniArgs\""},
         }) {
        const auto read = parse_cni_cache(wrong.text);
        BOOST_REQUIRE_MESSAGE(!read, wrong.text);
        BOOST_TEST(read.error().message.find(wrong.named) != std::string::npos,
                   read.error().message);
    }
}

BOOST_AUTO_TEST_CASE(of_two_files_for_one_address_the_newer_one_counts) {
    const Folder folder;
    const auto named = [](const char* name) {
        return cached(fmt::format(R"([["K8S_POD_NAMESPACE","shop"],["K8S_POD_NAME","{}"]])", name),
                      kResult);
    };
    // The order of a folder is that of the names, of their making, or the reverse: the newest is in the middle.
    folder.put("k8s-a-eth0", named("old"), 60);
    folder.put("k8s-b-eth0", named("new"));
    folder.put("k8s-c-eth0", named("older"), 120);
    const auto cache = read_cni_cache(folder.path());
    BOOST_REQUIRE_MESSAGE(cache, cache.error().message);
    BOOST_TEST(cache->addresses.size() == 2U);
    BOOST_TEST(cache->addresses.at(ip("198.18.9.2")).name == "new");
    BOOST_TEST(cache->unreadable == 0U);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_counted_and_the_others_are_read) {
    const Folder folder;
    folder.put("good", cached(kArguments, kResult));
    folder.put("half", cached(kArguments, kResult).substr(0, 100));
    folder.put("huge", std::string(300'000, ' '));
    BOOST_REQUIRE(mkfifo((folder.path() + "/fifo").c_str(), 0600) == 0);
    BOOST_REQUIRE(symlink("/dev/zero", (folder.path() + "/link").c_str()) == 0);
    std::filesystem::create_directory(folder.path() + "/folder");
    const auto cache = read_cni_cache(folder.path());
    BOOST_REQUIRE_MESSAGE(cache, cache.error().message);
    BOOST_TEST(cache->addresses.size() == 2U);
    BOOST_TEST(cache->unreadable == 4U);  // the folder is none of libcni's
    BOOST_TEST(cache->trouble.find(folder.path() + "/") == 0U, cache->trouble);
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_there_is_named) {
    const auto cache = read_cni_cache("/nonexistent/results");
    BOOST_REQUIRE(!cache);
    BOOST_TEST((cache.error().code == ErrorCode::kNotFound));
    BOOST_TEST(cache.error().message.find("/nonexistent/results") != std::string::npos);
}

// host-local's dataDir may be the folder of the results, or have it in it.
BOOST_AUTO_TEST_CASE(leases_and_folders_beside_results_are_passed_over) {
    const Folder folder;
    for (const char* lease : {"10.244.1.7", "2001:db8::7", "lock", "last_reserved_ip.0"}) {
        folder.put(lease, "c1\r\neth0");
    }
    std::filesystem::create_directory(folder.path() + "/cbr0");
    const auto leases = read_cni_cache(folder.path());
    BOOST_REQUIRE(!leases);
    BOOST_TEST((leases.error().code == ErrorCode::kBadInput));
    BOOST_TEST(leases.error().message.find("lease of host-local") != std::string::npos,
               leases.error().message);
    folder.put("k8s-a-eth0", cached(kArguments, kResult));
    const auto both = read_cni_cache(folder.path());
    BOOST_REQUIRE_MESSAGE(both, both.error().message);
    BOOST_TEST(both->unreadable == 0U, both->trouble);
    BOOST_TEST(both->cached.size() == 1U);
}

// host-local's folder, or the one above the results: nothing in it is a result.
BOOST_AUTO_TEST_CASE(a_folder_of_folders_is_no_cache) {
    const Folder folder;
    std::filesystem::create_directory(folder.path() + "/results");
    const auto cache = read_cni_cache(folder.path());
    BOOST_REQUIRE(!cache);
    BOOST_TEST((cache.error().code == ErrorCode::kBadInput));
    BOOST_TEST(cache.error().message.find("it has a folder, 'results'") != std::string::npos,
               cache.error().message);
}

BOOST_AUTO_TEST_CASE(a_cached_container_tells_its_namespace) {
    const auto read = parse_cni_cache(
        R"({"kind":"cniCacheV1","containerId":"c1","netns":"/run/netns/x","result":{}})");
    BOOST_REQUIRE_MESSAGE(read, read.error().message);
    BOOST_TEST(read->container == "c1");
    BOOST_TEST(read->netns == "/run/netns/x");
    BOOST_TEST(read->pod.name == "");
}
