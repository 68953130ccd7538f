// A lab whose pods are attached by real CNI plug-ins to two nodes, with the tester as their cable.

#include <algorithm>

#include "dataplane/base/file.h"
#include "harness/lab/lab.h"
#include "harness/lab/pod_nodes.h"
#include "harness/lab/pod_roles.h"

namespace pathproof::lab {
namespace {

class CniLab final : public Lab {
  public:
    explicit CniLab(std::vector<PodChain> chains) : chains_(std::move(chains)) {}

    const std::string& name() const override { return name_; }
    // A role is that of the first network that has it.
    std::string lacks(Role role) const override {
        std::string why;
        for (const PodChain& chain : chains_) {
            const std::string lacking = lacks_role(chain, role);
            if (lacking.empty()) {
                return "";
            }
            why += (why.empty() ? "" : "; ") + lacking;
        }
        return why;
    }
    Result<std::unique_ptr<Overlay>> overlay(Journal& journal) override {
        return pod_overlay(journal, first_with(Role::kOverlay));
    }
    Result<std::unique_ptr<NatBox>> nat_box(Journal& journal) override {
        return pod_nat_box(journal, first_with(Role::kNatBox));
    }
    Result<std::unique_ptr<NatPath>> nat_path(Journal& journal, ClientAt /*client*/) override {
        return pod_nat_path(journal, first_with(Role::kNatPath));
    }
    std::vector<std::string> duts() const override { return pod_chains(); }
    Result<MadeDut> make_dut(const std::string& name, Journal& journal) override {
        return pod_device(journal, *std::ranges::find(chains_, name, &PodChain::name));
    }
    std::vector<std::string> pod_chains() const override {
        std::vector<std::string> names;
        std::ranges::transform(chains_, std::back_inserter(names), &PodChain::name);
        return names;
    }
    Result<std::unique_ptr<PodNodes>> pods(const std::string& chain, Journal& journal) override {
        return PodNodes::build(journal, *std::ranges::find(chains_, chain, &PodChain::name));
    }
    std::string evidence_note() const override {
        return "Real CNI plug-ins and rules of the running kernel, on network namespaces as nodes "
               "and a software wire between them: this says something of the plug-ins and of the "
               "kernel's software path, nothing of any hardware. kube-proxy's and the overlays' "
               "rules are laid as their programs lay them; the programs themselves are not there.";
    }

  private:
    // Returns the first chain that has the role; the lab must have it.
    const PodChain& first_with(Role role) const {
        return *std::ranges::find_if(
            chains_, [&](const PodChain& chain) { return lacks_role(chain, role).empty(); });
    }

    std::string name_ = "cni";
    std::vector<PodChain> chains_;
};

Result<PodChain> chain_of_files(const std::string& names) {
    const std::size_t comma = names.find(',');
    PodChain chain;
    chain.sources = {names.substr(0, comma), comma == names.npos ? names : names.substr(comma + 1)};
    for (std::size_t node = 0; node < chain.sources.size(); ++node) {
        auto text = read_file(chain.sources[node]);
        if (!text) {
            return fail(ErrorCode::kBadInput,
                        "--conflist {}: no such file, and no network of that name is built in: {}",
                        chain.sources[node], text.error().message);
        }
        chain.texts[node] = std::move(*text);
    }
    return chain;
}

// Both nodes' pods would have the same addresses.
Status check_plan(const PodChain& chain) {
    const auto a = TRY(conflist_of(chain, 0, "/"));
    const auto b = TRY(conflist_of(chain, 1, "/"));
    for (const std::string& subnet : a.subnets) {
        if (std::ranges::find(b.subnets, subnet) != b.subnets.end()) {
            return fail(ErrorCode::kBadInput,
                        "{}: plugins: both nodes would give out the same addresses, {}; write "
                        "{{{{node}}}} where they differ (\"10.244.{{{{node}}}}.0/24\"), or name a "
                        "file for each node: --conflist A,B",
                        a.source, subnet);
        }
    }
    for (const cni::Conflist& conflist : {a, b}) {
        TRY(cni::Runtime({.plugins = chain.plugins}, conflist).check_plugins());
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<Lab>> make_cni_lab(const verdict::CniOptions& options) {
    std::vector<PodChain> chains;
    const cni::Chain* one = cni::find_chain(options.conflist);
    if (options.conflist.empty() || one != nullptr) {
        for (const cni::Chain& chain : cni::built_in_chains()) {
            const std::string source = fmt::format("built-in {}", chain.name);
            if (one == nullptr || one == &chain) {
                chains.push_back({.name = chain.name,
                                  .overlay = chain.overlay,
                                  .texts = {chain.conflist, chain.conflist},
                                  .sources = {source, source}});
            }
        }
    } else {
        PodChain chain = TRY(chain_of_files(options.conflist));
        const auto conflist = TRY(conflist_of(chain, 0, "/"));
        chain.name = conflist.name;
        const bool on_link = conflist.has("macvlan") || conflist.has("ipvlan");
        chain.overlay = on_link ? cni::Overlay::kNone : cni::Overlay::kRoutes;
        chains.push_back(std::move(chain));
    }
    for (PodChain& chain : chains) {
        chain.plugins = options.plugins.empty() ? chain.plugins : options.plugins;
        TRY(check_plan(chain));
    }
    return std::make_unique<CniLab>(std::move(chains));
}

}  // namespace pathproof::lab
