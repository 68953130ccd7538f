#include "harness/scenario/pods/pod_bench.h"

#include <algorithm>

#include "dataplane/port/device_name.h"
#include "harness/agent/name_servers.h"

namespace pathproof::scenario {
namespace {

using frame::Family;

// Facts by name; of lines that are there several times, how often.
class FactLines {
  public:
    explicit FactLines(std::string title, std::string source)
        : group_{.title = std::move(title)}, source_(std::move(source)) {}

    void add(const std::string& name, const std::string& value) {
        for (verdict::Fact& fact : group_.facts) {
            if (fact.name == name && fact.value.starts_with(value)) {
                ++counts_[name];
                fact.value = fmt::format("{} ({} times)", value, counts_[name]);
                return;
            }
        }
        counts_[name] = 1;
        group_.facts.push_back({.name = name,
                                .value = value,
                                .status = verdict::Fact::Status::kRead,
                                .source = source_});
    }
    verdict::FactGroup take() { return std::move(group_); }

  private:
    verdict::FactGroup group_;
    std::string source_;
    std::map<std::string, unsigned> counts_;
};

}  // namespace

std::string chain_prefix(const Context& context, const std::string& chain) {
    return context.lab.pod_chains().size() == 1 ? "" : chain + ".";
}

Result<std::unique_ptr<PodBench>> PodBench::open(Context& context, const std::string& chain) {
    std::unique_ptr<PodBench> bench(new PodBench);
    bench->nodes_ = TRY(context.lab.pods(chain, context.journal));
    const lab::PodNodeNames& names = bench->nodes_->names();
    for (const auto& [key, name, netns] : {std::tuple{"node-a", "node A", names.nodes[0]},
                                           {"node-b", "node B", names.nodes[1]},
                                           {"outside", "the outside host", names.outside}}) {
        auto agent = TRY(agent::Client::start_in_netns(netns));
        bench->hosts_[key] = {name, netns, names.device, std::move(agent)};
    }
    bench->tester_ = TRY(tester::Client::start({
        .netns = names.tester,
        .ports = {{"u0", port::af_packet_device(names.port_a)},
                  {"u1", port::af_packet_device(names.port_b)}},
        .worker_cpus = {context.options.cpus.back()},
        .hugepages = context.options.hugepages,
    }));
    context.measured.know_dpdk(bench->tester_->dpdk_version());
    return bench;
}

Result<lab::Pod*> PodBench::attach(unsigned node, const std::string& name,
                                   std::vector<cni::PortMapping> ports) {
    auto pod = std::make_unique<lab::Pod>(TRY(nodes_->make_pod(node, name)));
    pod->attachment.ports = std::move(ports);
    TRY(nodes_->attach(*pod));
    hosts_[name] = {"pod " + name, pod->netns, pod->attachment.interface,
                    TRY(agent::Client::start_in_netns(pod->netns))};
    lab::Pod* const attached = pod.get();
    pods_[name] = std::move(pod);
    return attached;
}

std::vector<const PodHost*> PodBench::all_hosts() const {
    std::vector<const PodHost*> hosts;
    for (const auto& [key, host] : hosts_) {
        hosts.push_back(&host);
    }
    return hosts;
}

std::string PodBench::name_of(const std::string& netns) const {
    const auto host =
        std::ranges::find_if(hosts_, [&](const auto& each) { return each.second.netns == netns; });
    return host == hosts_.end() ? netns : host->second.name;
}

Status PodBench::serve_on(PodHost& host, const std::vector<frame::IpAddress>& addresses) {
    for (const frame::IpAddress& address : addresses) {
        TRY(host.agent->start_dns_server({.listen = {address, kPodDnsPort},
                                          .address = frame::IpAddress::v4(0xC6336401),
                                          .address6 = *frame::parse_ip("2001:db8::1")}));
        TRY(host.agent->start_transfer_server({address, kPodTransferPort}));
    }
    return {};
}

Status PodBench::know_nodes(Context& context, const std::string& prefix) {
    const std::string of = prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1) + ", ";
    const cni::Conflist& conflist = nodes_->runtime(0).conflist();
    FactLines network(of + "network of the pods", conflist.source);
    for (const cni::Plugin& plugin : conflist.plugins) {
        network.add("plug-in " + plugin.type, "in the list");
    }
    network.add("cniVersion", conflist.version);
    context.measured.know(network.take());
    for (unsigned node = 0; node < 2; ++node) {
        const char* const which = node == 0 ? "node A" : "node B";
        const auto state = TRY(nodes_->state(node));
        FactLines rules(fmt::format("{}rules of {}", of, which), "iptables-save, ip6tables-save");
        for (const std::string& rule : state.rules) {
            rules.add(rule, "there");
        }
        context.measured.know(rules.take());
        FactLines objects(fmt::format("{}objects of {}", of, which), "ip link, address, route");
        for (const auto* list : {&state.devices, &state.addresses, &state.routes}) {
            for (const std::string& line : *list) {
                const std::size_t colon = line.find(": ");
                objects.add(line.substr(0, colon),
                            colon == line.npos ? "there" : line.substr(colon + 2));
            }
        }
        for (const char* sysctl : {"net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables",
                                   "net.ipv4.conf.all.rp_filter"}) {
            objects.add(sysctl, this->node(node).agent->read_sysctl(sysctl).value_or("not there"));
        }
        context.measured.know(objects.take());
    }
    return {};
}

}  // namespace pathproof::scenario
