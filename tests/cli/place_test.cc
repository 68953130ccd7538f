#define BOOST_TEST_MODULE place
#include "harness/cli/inspect/place.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace pathproof;
using cli::inspect::netns_of;

namespace {

constexpr const char* kHere = "/proc/self/ns/net";

class Folder {
  public:
    Folder() {
        char name[] = "/tmp/pathproof-place-XXXXXX";
        BOOST_REQUIRE(mkdtemp(name) != nullptr);
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    const std::string& path() const { return path_; }

    void put(const std::string& id, const std::string& pod_namespace, const std::string& pod,
             const std::string& netns) const {
        std::ofstream(path_ + "/net-" + id)
            << R"({"kind":"cniCacheV1","containerId":")" << id << R"(","netns":")" << netns
            << R"(","cniArgs":[["K8S_POD_NAMESPACE",")" << pod_namespace
            << R"("],["K8S_POD_NAME",")" << pod << R"("]],"result":{}})";
    }
    void put_program(const std::string& name, const std::string& script) const {
        const std::string file = path_ + "/" + name;
        std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
        BOOST_REQUIRE(chmod(file.c_str(), 0755) == 0);
    }

  private:
    std::string path_;
};

std::string place(const std::string& name, const std::string& cache,
                  const std::string& programs = "/nonexistent/") {
    const auto found = netns_of(name, cache, programs);
    BOOST_REQUIRE_MESSAGE(found, found.error().message);
    return *found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_pod_and_its_container_are_known_by_the_cni_cache) {
    const Folder cache;
    cache.put("0123456789abcdef", "shop", "web-1", kHere);
    cache.put("fedcba9876543210", "shop", "gone-1", "/run/netns/nonexistent");
    for (const char* name : {"web-1", "shop/web-1", "0123456789abcdef", "01234567"}) {
        BOOST_TEST(place(name, cache.path()) == kHere);
    }
    // These name no pod: too short for an id; a pod whose namespace is gone; nobody; a path;
    // nothing.
    for (const char* name : {"0123456", "gone-1", "other/web-1", "/proc/1/ns/net", "", "$(x)"}) {
        BOOST_TEST(place(name, cache.path()) == name);
    }
    BOOST_TEST(place("web-1", "/nonexistent/results") == "web-1");
}

BOOST_AUTO_TEST_CASE(a_name_that_several_pods_have_is_refused) {
    const Folder cache;
    cache.put("0123456789abcdef", "shop", "web-1", kHere);
    cache.put("1123456789abcdef", "test", "web-1", "/proc/self/task/../ns/net");
    const auto found = netns_of("web-1", cache.path());
    BOOST_REQUIRE(!found);
    BOOST_TEST(found.error().message.find("shop/web-1, test/web-1") != std::string::npos,
               found.error().message);
    BOOST_TEST(place("test/web-1", cache.path()) == "/proc/self/task/../ns/net");
}

BOOST_AUTO_TEST_CASE(a_container_is_known_by_its_runtime) {
    const Folder programs, cache;
    // docker knows one, podman another, which has ended; crictl finds a pod by its name.
    programs.put_program("docker", "[ \"$5\" = web ] && echo 4711 || exit 1");
    programs.put_program("podman", "[ \"$5\" = ended ] && echo 0 || exit 1");
    programs.put_program("crictl",
                         "case \"$*\" in 'pods --name ^pod1$ -q') echo id1 ;; "
                         "'inspectp '*' id1') echo 815 ;; *) exit 1 ;; esac");
    const std::string folder = programs.path() + "/";
    BOOST_TEST(place("web", cache.path(), folder) == "/proc/4711/ns/net");
    BOOST_TEST(place("ended", cache.path(), folder) == "ended");
    BOOST_TEST(place("pod1", cache.path(), folder) == "/proc/815/ns/net");
    BOOST_TEST(place("nobody", cache.path(), folder) == "nobody");
}
