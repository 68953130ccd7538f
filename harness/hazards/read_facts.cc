// Reading only: `nft list`, `iptables-save` (the legacy one shows the tables that are there and loads
// none), `ip ... show`, files below /proc/sys and one ioctl that asks for features.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include "dataplane/base/contains.h"
#include "dataplane/base/file.h"
#include "harness/agent/counters.h"
#include "harness/agent/ethtool.h"
#include "harness/agent/sysctl.h"
#include "harness/hazards/facts.h"
#include "harness/hazards/nft_tables.h"
#include "harness/netfilter/dump.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/setting/cures.h"

namespace pathproof::hazards {
namespace {

constexpr const char* kSaveNft = "iptables-nft-save";
constexpr const char* kSaveNft6 = "ip6tables-nft-save";

struct Tool {
    const char* package;
    std::vector<std::string> command;
    bool is_needed = true;  // else what it would show may not be there at all
};

class FactReader {
  public:
    FactReader(std::string netns, ConntrackTable table, Handles handles)
        : netns_(std::move(netns)), table_(table), handles_(handles) {}

    Result<Facts> read() {
        TRY(process::in_netns(netns_, [&]() -> Status {
            read_kernel();
            return {};
        }));
        // iptables-nft-save takes seconds for ten thousand chains.
        const auto begin = [&](const char* program) {
            return std::async(std::launch::async, [this, program] {
                return process::run_program({program, "-c"}, {.netns = netns_});
            });
        };
        auto ip = begin(kSaveNft), ip6 = begin(kSaveNft6);
        read_devices();
        take_iptables(Origin::kIptablesNft, "ip", kSaveNft, ip.get());
        take_iptables(Origin::kIptablesNft, "ip6", kSaveNft6, ip6.get());
        read_nft();
        read_legacy("ip", "iptables-legacy-save", ip_tables_);
        read_legacy("ip6", "ip6tables-legacy-save", ip6_tables_);
        return std::move(facts_);
    }

  private:
    void miss(const std::string& what, const std::string& why) {
        facts_.unread.push_back({what, why});
    }

    // Returns the tool's output. Nothing: it could not be had, which is noted under `what`.
    std::optional<std::string> ask(const std::string& what, const Tool& tool) {
        return output_of(what, tool, process::run_program(tool.command, {.netns = netns_}));
    }

    std::optional<std::string> output_of(const std::string& what, const Tool& tool,
                                         Result<process::ProgramOutput> ran) {
        if (!ran) {
            unstarted_ =
                fmt::format("{}; it is in the package {}", ran.error().message, tool.package);
            if (tool.is_needed) {
                miss(what, unstarted_);
            }
            return std::nullopt;
        }
        if (ran->exit_status != 0) {
            miss(what, fmt::format("`{}` ended with {}: {}", fmt::join(tool.command, " "),
                                   ran->exit_status, ran->err.substr(0, ran->err.find('\n'))));
            return std::nullopt;
        }
        return std::move(ran->out);
    }

    void take(const std::string& what, Result<Ruleset> rules) {
        if (!rules) {
            return miss(what, rules.error().message);
        }
        std::ranges::move(rules->chains, std::back_inserter(facts_.rules.chains));
        std::ranges::move(rules->incompatible, std::back_inserter(facts_.rules.incompatible));
        std::ranges::move(rules->tables, std::back_inserter(facts_.rules.tables));
    }

    void take_iptables(Origin origin, const char* family, const char* program,
                       Result<process::ProgramOutput> ran) {
        const std::string what = fmt::format("{} rules of {}", family, name(origin));
        const bool is_legacy = origin == Origin::kIptablesLegacy;
        if (const auto text =
                output_of(what, {"iptables", {program, "-c"}, is_legacy}, std::move(ran))) {
            take(what, parse_iptables_save(*text, origin, family));
        }
    }

    // Nobody has tables of the legacy form in most namespaces, and then its program is not missed.
    void read_legacy(const char* family, const char* command,
                     const std::optional<std::string>& tables) {
        if (tables && !tables->empty()) {
            take_iptables(Origin::kIptablesLegacy, family, command,
                          process::run_program({command, "-c"}, {.netns = netns_}));
        }
    }

    // Tables that iptables-nft wrote were read by its own program: of some of their matches nft's JSON
    // has names only.
    void read_nft() {
        const auto tables = read_nft_tables(netns_);
        if (!tables) {
            return miss("rules of nftables", tables.error().message);
        }
        const std::vector<std::string> known = facts_.rules.tables;
        const std::vector<std::string> incompatible = facts_.rules.incompatible;
        for (const auto& [family, name] : *tables) {
            const std::string table = family + " " + name;
            if (!contains(known, table) || contains(incompatible, table)) {
                read_table(family, name);
            } else if (handles_ == Handles::kRead) {
                read_handles(family, name);
            }
        }
    }

    // Both programs show the rules of a table in one order; nft has their handles.
    void read_handles(const std::string& family, const std::string& table) {
        const auto shown = ask("handles of the rules of " + table,
                               {"nftables", {"nft", "-a", "list", "table", family, table}, false});
        if (shown) {
            take_handles(*shown, family, table, facts_.rules);
        }
    }

    void read_table(const std::string& family, const std::string& table) {
        const std::string what = fmt::format("nftables' table {} {}", family, table);
        // The name may be one of nft's own words, which it prints and does not take ("limits").
        const auto whole =
            process::run_program({"nft", "-j", "list", "table", family, table}, {.netns = netns_});
        const bool is_word = whole && whole->exit_status != 0 &&
                             whole->err.find("syntax error") != std::string::npos;
        const auto list = [&](const char* form) {
            return ask(what, is_word
                                 ? Tool{"nftables", {"nft", form, "list", "ruleset", family}}
                                 : Tool{"nftables", {"nft", form, "list", "table", family, table}});
        };
        auto rules = list("-j");
        const auto texts = rules ? list("-a") : std::nullopt;
        if (texts && is_word) {
            const auto one = table_of_ruleset(*rules, {family, table});
            rules = one ? std::optional(*one) : std::nullopt;
        }
        if (!texts || !rules) {
            return;
        }
        take(what, parse_nft(*rules, *texts));
        if (rules->find("\"xt\":") != std::string::npos) {
            miss(what, "it holds rules of iptables-nft, which its own program did not show" +
                           (unstarted_.empty() ? "" : ": " + unstarted_));
        }
    }

    void read_devices() {
        const std::string what = "devices";
        const auto links = ask(what, {"iproute2", {"ip", "-d", "-j", "link", "show"}});
        const auto addresses = ask("addresses", {"iproute2", {"ip", "-j", "address", "show"}});
        const auto fdb = ask("forwarding databases", {"iproute2", {"bridge", "-j", "fdb", "show"}});
        if (links && addresses) {
            auto devices = parse_devices(*links, *addresses, fdb.value_or(""));
            if (!devices) {
                miss(what, devices.error().message);
            } else {
                facts_.devices = std::move(*devices);
                read_features();
            }
        }
        if (const auto text = ask("neighbours", {"iproute2", {"ip", "-s", "-j", "neigh", "show"}});
            text) {
            auto neighbours = parse_neighbours(*text);
            if (!neighbours) {
                miss("neighbours", neighbours.error().message);
            } else {
                facts_.neighbours = std::move(*neighbours);
            }
        }
        read_routes();
        if (table_ == ConntrackTable::kRead) {
            read_unanswered();
        }
    }

    // Flows of protocols that a helper follows, without an answer.
    void read_unanswered() {
        netfilter::Filter filter;
        filter.status_clear = netfilter::status::kSeenReply;
        for (const auto& [name, protocol, port] : kHelped) {
            filter.protocol = protocol;
            filter.original.destination_port = port;
            const auto counted = netfilter::count_entries(netns_, filter);
            if (counted && counted->entries != 0) {
                facts_.unanswered[name] = counted->entries;
            }
        }
    }

    void read_routes() {
        for (const char* family : {"-4", "-6"}) {
            const std::string what = fmt::format("routes of IPv{}", family + 1);
            const auto text =
                ask(what, {"iproute2", {"ip", family, "-j", "route", "show", "table", "all"}});
            auto routes = text ? parse_routes(*text) : Result<std::vector<Route>>();
            if (!routes) {
                miss(what, routes.error().message);
            } else {
                std::ranges::move(*routes, std::back_inserter(facts_.routes));
                const std::string shown = text.value_or("");
                append(facts_.locals, parse_locals(shown));
                append(facts_.prefixes, parse_prefixes(shown));
            }
        }
        const auto text = ask("routing rules", {"iproute2", {"ip", "-j", "rule", "show"}});
        const auto rules = text ? parse_routing_rules(*text) : Result<unsigned>(0);
        if (!rules) {
            return miss("routing rules", rules.error().message);
        }
        facts_.routing_rules = *rules;
        append(facts_.prefixes, parse_rule_prefixes(text.value_or("")));
        append(facts_.rule_sources, parse_rule_sources(text.value_or("")));
    }

    // Another reader of the same text has reported its errors: they are ignored here.
    static void append(std::vector<AddressRange>& all, Result<std::vector<AddressRange>> more) {
        if (more) {
            std::ranges::move(*more, std::back_inserter(all));
        }
    }

    void read_features() {
        for (Device& device : facts_.devices) {
            if (device.kind != "vxlan") {
                continue;
            }
            const auto features =
                process::in_netns(netns_, [&] { return agent::read_features(device.name); });
            if (!features) {
                miss("offloads of " + device.name, features.error().message);
                continue;
            }
            for (const agent::Feature& feature : *features) {
                if (feature.name == setting::kTunnelChecksums) {
                    device.tx_checksum = feature.active;
                }
            }
        }
    }

    // Reads the kernel's facts; runs in the namespace.
    void read_kernel() {
        for (const char* sysctl :
             {"net.ipv4.ip_forward", "net.netfilter.nf_conntrack_helper", setting::kTimestamps,
              setting::kBeLiberal, "net.bridge.bridge-nf-call-iptables",
              "net.bridge.bridge-nf-call-ip6tables"}) {
            read_sysctl(sysctl);
        }
        std::error_code none;
        for (const auto& entry :
             std::filesystem::directory_iterator("/proc/sys/net/ipv4/conf", none)) {
            read_sysctl("net.ipv4.conf." + entry.path().filename().string() + ".rp_filter");
        }
        for (const auto& entry :
             std::filesystem::directory_iterator("/proc/sys/net/ipv6/conf", none)) {
            for (const char* value : {".forwarding", ".accept_ra"}) {
                read_sysctl("net.ipv6.conf." + entry.path().filename().string() + value);
            }
        }
        if (const auto counters = agent::read_counters(); counters) {
            const auto found = counters->find("TcpExt.IPReversePathFilter");
            if (found != counters->end()) {
                facts_.counters.insert(*found);
            }
        }
        facts_.ipvs = parse_ipvs(read_file("/proc/thread-self/net/ip_vs").value_or(""));
        ip_tables_ = read_names("ip_tables_names");
        ip6_tables_ = read_names("ip6_tables_names");
    }

    void read_sysctl(const std::string& name) {
        const auto value = agent::read_sysctl(name);
        if (value) {
            facts_.sysctls[name] = *value;
        } else if (value.error().code != ErrorCode::kNotFound &&
                   value.error().code != ErrorCode::kKernelLacks) {
            miss("sysctl " + name, value.error().message);
        }
    }

    std::optional<std::string> read_names(const std::string& file) {
        const auto names = read_file("/proc/thread-self/net/" + file);
        if (!names && names.error().code != ErrorCode::kNotFound) {
            miss("tables of iptables (legacy)", names.error().message);
        }
        return names ? std::optional<std::string>(*names) : std::nullopt;
    }

    std::string netns_;
    ConntrackTable table_;
    Handles handles_;
    Facts facts_;
    std::string unstarted_;  // the program that could not be started last, and why
    std::optional<std::string> ip_tables_, ip6_tables_;  // nothing: the kernel has no legacy form
};

}  // namespace

Result<Facts> read_facts(const std::string& netns, ConntrackTable table, Handles handles) {
    return FactReader(netns, table, handles).read();
}

Rule with_handle(const std::string& netns, const Facts& facts, const Rule& rule) {
    const auto chain = std::ranges::find_if(facts.rules.chains, [&](const Chain& each) {
        return each.origin == rule.origin && each.family == rule.family &&
               each.table == rule.table && each.name == rule.chain;
    });
    if (rule.origin != Origin::kIptablesNft || rule.handle != 0 ||
        chain == facts.rules.chains.end()) {
        return rule;
    }
    const auto shown = process::run_checked(
        {"nft", "-a", "list", "chain", rule.family, rule.table, rule.chain}, {.netns = netns});
    if (!shown) {
        return rule;
    }
    Ruleset one{.chains = {*chain}};
    take_handles(*shown, rule.family, rule.table, one);
    const auto& rules = one.chains.front().rules;
    const auto found = std::ranges::find(rules, rule.number, &Rule::number);
    return found == rules.end() ? rule : *found;
}

}  // namespace pathproof::hazards
