// Conflists: what is wrong with one is said with its file and key.
#include "harness/cni/conflist.h"

#include <boost/test/unit_test.hpp>

#include "harness/cni/chains.h"

using namespace pathproof;
using namespace pathproof::cni;

namespace {

Result<Conflist> read(const std::string& text, unsigned node = 1) {
    return parse_conflist(text, "a.conflist", node, "/data");
}

std::string list(const std::string& plugins) {
    return R"({"name":"n","cniVersion":"1.0.0","plugins":[)" + plugins + "]}";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_list_has_its_plugins_and_what_they_can) {
    const auto conflist = read(
        list(
            R"({"type":"bridge","ipMasq":true,"ipam":{"type":"host-local","subnet":"10.244.{{node}}.0/24",)"
            R"("dataDir":"/var/lib/cni"}},{"type":"portmap","capabilities":{"portMappings":true,"ips":false}})"),
        2);
    BOOST_REQUIRE_MESSAGE(conflist, conflist.error().message);
    BOOST_TEST(conflist->has("portmap"));
    BOOST_TEST(conflist->plugins[1].can("portMappings"));
    BOOST_TEST(!conflist->plugins[1].can("ips"));
    BOOST_TEST(conflist->plugins[0].config.find("\"dataDir\":\"/data\"") != std::string::npos);
    BOOST_TEST(conflist->subnets.front().starts_with("10.244.2.0/24"));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_with_the_file_and_the_key) {
    for (
        const auto& [text, words] :
        {std::pair{std::string("rubbish"), "a.conflist: it is no JSON object"},
         {R"({"cniVersion":"1.0.0","plugins":[]})", "a.conflist: name: "},
         {R"({"name":"n","plugins":[{}]})", "a.conflist: cniVersion: "},
         {R"({"name":"n","cniVersion":"0.2.0","plugins":[{"type":"x"}]})", "since 0.3.0"},
         {R"({"name":"n","cniVersion":"1.0.0","type":"bridge"})", "write this single"},
         {list(""), "a.conflist: plugins: there is none"},
         {list("1"), "a.conflist: plugins[0]: it is no object"},
         {list("{}"), "a.conflist: plugins[0].type: "},
         {list(R"({"type":"../x"})"), "'../x' is no name of a plug-in"},
         {list(R"({"type":"a","ipam":1})"), "plugins[0].ipam: it is no object"},
         {list(R"({"type":"a"},{"type":"b","ipam":{"x":1}})"), "plugins[1].ipam.type: "},
         {list(R"({"type":"a","ipam":{"type":"host-local","subnet":"8.8.8.0/24"}})"),
          "plugins[0].ipam.subnet: 8.8.8.0 is outside"},
         {list(
              R"({"type":"a","ipam":{"type":"host-local","ranges":[[{"subnet":"10.96.1.0/24"}]]}})"),
          "plugins[0].ipam.ranges[0][0].subnet: 10.96.1.0 is in 10.96.0.0/16"},
         {list(R"({"type":"a","ipam":{"type":"host-local","subnet":"10.1.0.0"}})"), "10.1.0.0"},
         {list(R"({"type":"a","ipam":{"type":"host-local","ranges":7}})"), "a.conflist"}}) {
        const auto conflist = read(text);
        BOOST_REQUIRE_MESSAGE(!conflist, text);
        BOOST_TEST(conflist.error().message.find(words) != std::string::npos,
                   conflist.error().message);
    }
}

BOOST_AUTO_TEST_CASE(a_plugin_that_takes_a_daemon_is_refused_by_name) {
    for (const char* type : {"cilium-cni", "calico", "flannel"}) {
        const auto conflist = read(list(fmt::format(R"({{"type":"{}"}})", type)));
        BOOST_REQUIRE(!conflist);
        BOOST_TEST((conflist.error().code == ErrorCode::kNotSupported));
        BOOST_TEST(conflist.error().message.find(type) != std::string::npos);
        BOOST_TEST(conflist.error().message.find("on the cluster") != std::string::npos);
    }
    BOOST_TEST(!read(list(R"({"type":"bridge","ipam":{"type":"dhcp"}})")));
}

BOOST_AUTO_TEST_CASE(each_built_in_network_can_be_read_for_both_nodes) {
    BOOST_TEST(built_in_chains().size() == 6);
    for (const Chain& chain : built_in_chains()) {
        const auto a = read(chain.conflist, 1), b = read(chain.conflist, 2);
        BOOST_REQUIRE_MESSAGE(a && b, chain.name);
        BOOST_TEST(!a->subnets.empty());
        BOOST_TEST(a->subnets != b->subnets, chain.name);
    }
}

BOOST_AUTO_TEST_CASE(an_overlay_is_made_as_its_daemon_makes_it) {
    const OverlaySetup flannel = overlay_setup(Overlay::kFlannel, 1);
    BOOST_TEST(flannel.tunnel.find(
                   "link add flannel.1 address 02:00:0a:f4:01:00 mtu 1450 type vxlan "
                   "id 1 dev eth0 local 198.18.0.1 dstport 8472 nolearning") != std::string::npos);
    BOOST_TEST(flannel.tunnel.find("via 10.244.2.0 dev flannel.1 onlink") != std::string::npos);
    BOOST_TEST(
        flannel.rules.find("-s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE --random-fully") !=
        std::string::npos);
    const OverlaySetup calico = overlay_setup(Overlay::kCalico, 2);
    BOOST_TEST(calico.tunnel.find("type vxlan id 4096 dev eth0 local 198.18.0.2 dstport 4789") !=
               std::string::npos);
}
