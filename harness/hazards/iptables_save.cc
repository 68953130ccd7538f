// The format of iptables-save(8): "*table", ":CHAIN POLICY [packets:bytes]", "-A CHAIN ...",
// "COMMIT".
#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <tuple>
#include <unordered_map>

#include "dataplane/base/contains.h"
#include "dataplane/base/number.h"
#include "harness/hazards/ruleset.h"
#include "harness/process/foreign.h"

namespace pathproof::hazards {
namespace {

using Words = std::vector<std::string>;

// Splits a line as iptables-restore does: at blanks, with quotes in which a backslash escapes.
Words words_of(const std::string& line) {
    Words words;
    std::istringstream text(line);
    for (std::string word; text >> std::quoted(word);) {
        words.push_back(word);
    }
    return words;
}

Words split(const std::string& list) {
    Words parts;
    boost::split(parts, list, boost::is_any_of(","));
    return parts;
}

// "0x4000/0x4000", "0x4000".
std::pair<std::uint32_t, std::uint32_t> mark_of(const std::string& text) {
    const std::size_t slash = text.find('/');
    const auto number = [](const std::string& digits) {
        return static_cast<std::uint32_t>(std::strtoul(digits.c_str(), nullptr, 0));
    };
    return {number(text.substr(0, slash)),
            slash == std::string::npos ? 0xffffffffU : number(text.substr(slash + 1))};
}

void add_ports(Condition& condition, const std::string& list) {
    for (const std::string& part : split(list)) {
        const std::size_t colon = part.find(':');
        const auto first = whole_number<std::uint16_t>(part.substr(0, colon));
        const auto last = colon == std::string::npos
                              ? first
                              : whole_number<std::uint16_t>(part.substr(colon + 1));
        if (!first || !last) {
            condition.field = Field::kOther;  // a service's name: iptables-save prints numbers
        } else {
            condition.ports.emplace_back(*first, *last);
        }
    }
}

std::string protocol_name(const std::string& text) {
    static const std::pair<const char*, const char*> kNames[] = {
        {"6", "tcp"}, {"17", "udp"}, {"1", "icmp"}, {"58", "icmpv6"}, {"ipv6-icmp", "icmpv6"}};
    for (const auto& [form, name] : kNames) {
        if (text == form) {
            return name;
        }
    }
    return boost::to_lower_copy(text);
}

// "8", "8/0", "any": types, and codes behind a slash.
void add_icmp(Rule& rule, bool negated, const std::string& text) {
    const std::size_t slash = text.find('/');
    const auto type = whole_number<std::uint8_t>(text.substr(0, slash));
    const auto code = slash == std::string::npos
                          ? std::nullopt
                          : whole_number<std::uint8_t>(text.substr(slash + 1));
    if (text == "any" || text == "255") {
        return;
    }
    if (!type || (slash != std::string::npos && (!code || negated))) {
        rule.conditions.push_back({.unknown = "--icmp-type " + text});
        return;
    }
    rule.conditions.push_back(
        {.field = Field::kIcmpType, .negated = negated, .ports = {{*type, *type}}});
    if (code) {
        rule.conditions.push_back({.field = Field::kIcmpCode, .ports = {{*code, *code}}});
    }
}

// The bits of names such as "FIN,SYN,RST,ACK"; nothing for another word.
std::optional<std::uint32_t> tcp_flags(const std::string& list) {
    static const char* const kFlags[] = {"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"};
    if (list == "NONE") {
        return 0;
    }
    if (list == "ALL") {
        return 0x3f;
    }
    std::uint32_t bits = 0;
    for (const std::string& word : split(list)) {
        const auto* const flag = std::ranges::find(kFlags, word);
        if (flag == std::end(kFlags)) {
            return std::nullopt;
        }
        bits |= 1U << (flag - kFlags);
    }
    return bits;
}

std::optional<std::pair<std::uint16_t, std::uint16_t>> port_range_of(const std::string& text) {
    const std::size_t dash = text.find('-');
    const auto first = whole_number<std::uint16_t>(text.substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : whole_number<std::uint16_t>(text.substr(dash + 1));
    return first && last ? std::optional(std::pair(*first, *last)) : std::nullopt;
}

// Returns the place of the colon before the ports; npos where there are none.
std::size_t colon_of_ports(const std::string& text) {
    const std::size_t bracket = text.rfind(']');
    if (bracket != std::string::npos) {
        return text.find(':', bracket);
    }
    const bool bare_v6 = text.find('.') == std::string::npos && !text.starts_with(':');
    return bare_v6 ? std::string::npos : text.rfind(':');
}

// "10.0.0.1:80", "10.0.0.1-10.0.0.5:80-90", "[2001:db8::1]:80", ":80", "2001:db8::1". Nothing where
// it is another form.
std::optional<NatTarget> nat_target(const std::string& text) {
    NatTarget target;
    std::string addresses = text;
    const std::size_t colon = colon_of_ports(text);
    if (colon != std::string::npos) {
        std::string ports = text.substr(colon + 1);
        ports = ports.substr(0, ports.find('/'));  // "/BASE" of shifted ports
        target.ports = port_range_of(ports);
        if (!target.ports || ports.size() + colon + 1 != text.size()) {
            return std::nullopt;
        }
        addresses = text.substr(0, colon);
    }
    std::erase_if(addresses, [](char c) { return c == '[' || c == ']'; });
    if (!addresses.empty()) {
        const auto range = parse_range(addresses);
        if (!range) {
            return std::nullopt;
        }
        target.addresses = *range;
    }
    return target;
}

struct Known {
    const char* option;
    Field field;
};
constexpr Known kKnown[] = {
    {"-s", Field::kSource},
    {"-d", Field::kDestination},
    {"-p", Field::kProtocol},
    {"-i", Field::kIn},
    {"-o", Field::kOut},
    {"--dport", Field::kDestinationPort},
    {"--sport", Field::kSourcePort},
    {"--dports", Field::kDestinationPort},
    {"--sports", Field::kSourcePort},
    {"--ctstate", Field::kState},
    {"--state", Field::kState},
    {"--mark", Field::kMark},
    {"--mode", Field::kRandom},
    {"--dst-type", Field::kDestinationType},
    {"--src-type", Field::kSourceType},
    {"--ports", Field::kEitherPort},
    {"--uid-owner", Field::kUser},
    {"--ctdir", Field::kDirection},
    {"--ctstatus", Field::kStatus},
    {"--src-range", Field::kSource},
    {"--dst-range", Field::kDestination},
};
// These matches say nothing without their options.
constexpr const char* kSilent[] = {
    "tcp",       "udp",       "sctp", "comment", "conntrack", "state", "mark",  "addrtype",
    "multiport", "statistic", "set",  "iprange", "icmp",      "icmp6", "owner", "connmark"};
constexpr const char* kMarkOfEntry = "connmark";

// A position in the words of a rule; each step adds to the rule what it reads.
struct Reader {
    const Words& words;
    std::size_t at;
    Rule& rule;
    std::string match_ = {};  // behind the last "-m"

    std::string next() { return at < words.size() ? words[at++] : std::string(); }

    void add(Field field, bool negated, const std::string& value) {
        Condition condition{.field = field, .negated = negated};
        switch (field) {
            case Field::kSource:
            case Field::kDestination:
                if (const auto range = parse_range(value); range) {
                    condition.addresses.push_back(*range);
                } else {
                    condition.field = Field::kOther;
                }
                break;
            case Field::kProtocol: condition.words = {protocol_name(value)}; break;
            case Field::kIn:
            case Field::kOut: condition.words = {value}; break;
            case Field::kSourcePort:
            case Field::kDestinationPort:
            case Field::kEitherPort: add_ports(condition, value); break;
            case Field::kState:
            case Field::kStatus:
            case Field::kDirection:
            case Field::kSourceType:
            case Field::kDestinationType:
                condition.words = split(boost::to_lower_copy(value));
                break;
            case Field::kUser: condition.words = {value}; break;
            case Field::kMark:
                std::tie(condition.mark, condition.mask) = mark_of(value);
                condition.field = match_ == kMarkOfEntry ? Field::kConnmark : Field::kMark;
                break;
            case Field::kRandom:
                condition.field = value == "random" ? Field::kRandom : Field::kOther;
                condition.unknown = value == "random" ? "" : "statistic --mode " + value;
                break;
            case Field::kConnmark:
            case Field::kFamily:
            case Field::kIcmpType:
            case Field::kIcmpCode:
            case Field::kTcpFlags:
            case Field::kAlternatives:
            case Field::kOther: break;
        }
        rule.conditions.push_back(std::move(condition));
    }

    void add_set(bool negated) {
        const std::string set = next(), direction = next();
        Field field = Field::kOther;
        if (direction == "src") {
            field = Field::kSource;
        } else if (direction == "dst") {
            field = Field::kDestination;
        }
        rule.conditions.push_back({.field = field, .negated = negated, .set = set});
    }

    // One option of a match. What is not known may hold or not, and its values are passed over.
    void take_match(bool negated) {
        const std::string option = next();
        const auto* known =
            std::ranges::find_if(kKnown, [&](const Known& each) { return option == each.option; });
        if (known != std::end(kKnown)) {
            return add(known->field, negated, next());
        }
        if (option == "-m") {
            match_ = next();
            if (!contains(kSilent, match_)) {
                rule.conditions.push_back({.unknown = "-m " + match_});
            }
        } else if (option == "--icmp-type" || option == "--icmpv6-type") {
            add_icmp(rule, negated, next());
        } else if (option == "--tcp-flags") {
            const auto mask = tcp_flags(next()), bits = tcp_flags(next());
            rule.conditions.push_back(mask && bits ? Condition{.field = Field::kTcpFlags,
                                                               .negated = negated,
                                                               .mark = *bits,
                                                               .mask = *mask}
                                                   : Condition{.unknown = option});
        } else if (option == "--match-set") {
            add_set(negated);
        } else if (option == "--comment") {
            next();
        } else if (option.starts_with("-")) {
            // "--mode random" takes its probability as a further option.
            if (option != "--probability") {
                rule.conditions.push_back({.unknown = option});
            }
        }
    }

    void set_mark(const std::string& value, bool exclusive) {
        const auto [mark, mask] = mark_of(value);
        rule.action = Action::kSetMark;
        rule.targets.clear();
        rule.flipped = mark;
        // --set-mark: (mark & ~mask) | value.
        rule.cleared = exclusive ? mask : mask | mark;
        rule.effects.push_back(
            {.kind = Effect::Kind::kMark, .cleared = rule.cleared, .flipped = rule.flipped});
    }

    // "--set-xmark V/M", "--save-mark --nfmask N --ctmask C", "--restore-mark ...".
    void take_connmark() {
        Effect effect{.cleared = 0xffffffff, .flipped = 0xffffffff};
        while (at < words.size()) {
            const std::string option = next();
            if (option == "--set-xmark" || option == "--set-mark") {
                const auto [mark, mask] = mark_of(next());
                effect.kind = Effect::Kind::kConnmark;
                effect.flipped = mark;
                effect.cleared = option == "--set-xmark" ? mask : mask | mark;
            } else if (option == "--save-mark" || option == "--restore-mark") {
                effect.kind = option == "--save-mark" ? Effect::Kind::kConnFromMark
                                                      : Effect::Kind::kMarkFromConn;
            } else if (option == "--nfmask" || option == "--ctmask") {
                // One option masks the bits that are taken, the other the bits that are cleared.
                const bool taken =
                    (option == "--nfmask") == (effect.kind == Effect::Kind::kConnFromMark);
                (taken ? effect.flipped : effect.cleared) = mark_of(next()).first;
            } else if (option == "--mask") {
                effect.flipped = effect.cleared = mark_of(next()).first;
            }
        }
        rule.action = Action::kNone;
        rule.effects.push_back(effect);
    }

    void take_ct() {
        rule.action = Action::kNone;
        while (at < words.size()) {
            const std::string option = next();
            if (option == "--notrack") {
                rule.tracks = false;
                rule.action = Action::kNotrack;
                rule.effects.push_back({.kind = Effect::Kind::kNotrack});
            } else if (option.starts_with("--zone")) {
                const auto zone = whole_number<std::uint16_t>(next());
                auto kind = Effect::Kind::kUnknown;
                if (zone) {
                    kind = option == "--zone" ? Effect::Kind::kZone : Effect::Kind::kZoneOne;
                }
                rule.effects.push_back(
                    {.kind = kind, .zone = zone.value_or(0), .text = "CT " + option});
            }
        }
    }

    void take_target(const std::string& target) {
        static const std::pair<const char*, Action> kTargets[] = {
            {"ACCEPT", Action::kAccept},     {"DROP", Action::kDrop},
            {"REJECT", Action::kDrop},       {"RETURN", Action::kReturn},
            {"SNAT", Action::kSnat},         {"MASQUERADE", Action::kMasquerade},
            {"DNAT", Action::kDnat},         {"NOTRACK", Action::kNotrack},
            {"REDIRECT", Action::kRedirect}, {"NETMAP", Action::kNetmap},
        };
        // They change or note a packet, and nothing of its way here.
        static const char* const kSilentTargets[] = {
            "LOG",     "NFLOG",   "ULOG",        "TRACE",     "AUDIT",  "TOS",         "DSCP",
            "TTL",     "HL",      "CLASSIFY",    "CHECKSUM",  "TCPMSS", "TCPOPTSTRIP", "SET",
            "RATEEST", "SECMARK", "CONNSECMARK", "IDLETIMER", "LED",    "ECN",         "HMARK"};
        static const char* const kUnmodelled[] = {"NFQUEUE", "QUEUE",     "TPROXY",   "SAME", "TEE",
                                                  "DNPT",    "CLUSTERIP", "SYNPROXY", "SNPT"};
        // xt_CT's and the others' checkentry(): nf_ct_netns_get().
        static const char* const kTracking[] = {"CT",        "CONNMARK", "CONNSECMARK", "SAME",
                                                "CLUSTERIP", "SYNPROXY", "NETMAP"};
        rule.tracks = contains(kTracking, target);
        const auto* known =
            std::ranges::find_if(kTargets, [&](const auto& each) { return target == each.first; });
        if (known != std::end(kTargets)) {
            rule.action = known->second;
            rule.rejects = target == "REJECT";
            if (rule.action == Action::kNotrack) {
                rule.effects.push_back({.kind = Effect::Kind::kNotrack});
            }
        } else if (target == "CT") {
            return take_ct();
        } else if (target == "CONNMARK") {
            return take_connmark();
        } else if (contains(kSilentTargets, target)) {
            rule.action = Action::kNone;
            return;
        } else if (contains(kUnmodelled, target)) {
            rule.action = Action::kNone;
            rule.unmodelled = target;
            return;
        } else {
            rule.action = Action::kJump;  // of a chain of that name, where there is one
            rule.targets = {target};
        }
        while (at < words.size()) {
            const std::string option = next();
            if (option == "--random" || option == "--random-fully") {
                rule.random = true;
            } else if (option == "--to-destination" || option == "--to-source") {
                const std::string to = next();
                const auto parsed = nat_target(to);
                rule.nat.push_back(parsed.value_or(NatTarget{}));
                rule.unmodelled = parsed ? rule.unmodelled : "to " + to;
                if (const auto end = frame::parse_endpoint(to); end) {
                    rule.to = end->address;
                } else if (const auto range = parse_range(to.substr(0, to.find(':'))); range) {
                    rule.to = range->first;
                } else if (const auto address = frame::parse_ip(to); address) {
                    rule.to = *address;
                }
            } else if (option == "--to" && rule.action == Action::kNetmap) {
                const std::string to = next();
                const auto network = parse_range(to);
                rule.unmodelled = network ? rule.unmodelled : "to " + to;
                rule.nat.push_back({.addresses = network ? std::optional(*network) : std::nullopt,
                                    .keeps_host = true});
            } else if (option == "--to-ports") {
                const std::string to = next();
                const auto ports = port_range_of(to);
                rule.nat.push_back({.ports = ports});
                rule.unmodelled = ports ? rule.unmodelled : "to port " + to;
            } else if (option == "--set-xmark" || option == "--set-mark") {
                set_mark(next(), option == "--set-xmark");
            }
        }
        if (rule.action == Action::kJump && rule.targets == Words{"MARK"}) {
            rule.action = Action::kNone;
            rule.unmodelled = "MARK";
        }
        const bool translates = rule.action == Action::kMasquerade ||
                                rule.action == Action::kSnat || rule.action == Action::kDnat ||
                                rule.action == Action::kRedirect;
        if (translates && rule.nat.empty()) {
            rule.nat.emplace_back();
        }
    }

    void take_all() {
        while (at < words.size()) {
            if (words[at] == "-j" || words[at] == "-g") {
                const bool goes = words[at++] == "-g";
                take_target(next());
                rule.action = goes && rule.action == Action::kJump ? Action::kGoto : rule.action;
                return;
            }
            const bool negated = words[at] == "!";
            at += negated ? 1 : 0;
            take_match(negated);
        }
    }
};

// "[12:624]": packets and bytes.
std::uint64_t packets_of(std::string_view text) {
    text.remove_prefix(text.starts_with('[') ? 1 : 0);
    return take_number<std::uint64_t>(text).value_or(0);
}

// Priorities of the hooks that x_tables registers (enum nf_ip_hook_priorities).
int priority_of(const std::string& table, const std::string& chain) {
    if (table == "raw") {
        return -300;
    }
    if (table == "mangle") {
        return -150;
    }
    if (table == "nat") {
        return chain == "PREROUTING" || chain == "OUTPUT" ? -100 : 100;
    }
    return table == "security" ? 50 : 0;
}

std::string hook_of(const std::string& chain) {
    static const char* const kHooks[] = {"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"};
    return contains(kHooks, chain) ? boost::to_lower_copy(chain) : "";
}

class SaveReader {
  public:
    SaveReader(Origin origin, std::string family) : origin_(origin), family_(std::move(family)) {}

    Status take(const std::string& line) {
        ++number_;
        if (line.empty()) {
            return {};
        }
        if (line.starts_with('#')) {
            // "# Table `nat' is incompatible, use 'nft' tool."
            const std::size_t begin = line.find('`'), end = line.find('\'');
            if (begin < end && end != std::string::npos &&
                line.find("incompatible") != std::string::npos) {
                rules_.incompatible.push_back(family_ + " " +
                                              line.substr(begin + 1, end - begin - 1));
            }
            return {};
        }
        if (line.starts_with('*')) {
            table_ = line.substr(1);
            rules_.tables.push_back(family_ + " " + table_);
            return {};
        }
        if (line == "COMMIT") {
            table_.clear();
            return {};
        }
        if (table_.empty()) {
            return wrong("stands in no table");
        }
        // "[12:624] -A ..." with counters.
        const std::size_t begin = line.starts_with('[') ? line.find("] ") : std::string::npos;
        const std::string rest = begin == std::string::npos ? line : line.substr(begin + 2);
        const Words words = words_of(rest);
        if (rest.starts_with(':') && !words.empty()) {
            Chain& named = chain(words[0].substr(1));
            named.drops = words.size() > 1 && words[1] == "DROP";
            named.packets = words.size() > 2 ? packets_of(words[2]) : 0;
            return {};
        }
        if (words.size() < 2 || words[0] != "-A") {
            return wrong("is neither a table, a chain nor a rule");
        }
        Chain& in = chain(words[1]);
        Rule rule{.origin = origin_,
                  .family = family_,
                  .table = table_,
                  .chain = words[1],
                  .number = static_cast<unsigned>(in.rules.size() + 1),
                  .text = rest};
        if (begin != std::string::npos) {
            rule.packets = packets_of(line.substr(0, begin + 1));
        }
        Reader{words, 2, rule}.take_all();
        in.rules.push_back(std::move(rule));
        return {};
    }

    Ruleset finish() { return std::move(rules_); }

  private:
    Status wrong(const char* why) const {
        return fail(ErrorCode::kBadInput, "{} of {}, line {}: this {}",
                    family_ == "ip" ? "iptables-save" : "ip6tables-save", name(origin_), number_,
                    why);
    }

    Chain& chain(const std::string& name) {
        const auto [found, is_new] = places_.try_emplace(table_ + " " + name, rules_.chains.size());
        if (!is_new) {
            return rules_.chains[found->second];
        }
        rules_.chains.push_back({.origin = origin_,
                                 .family = family_,
                                 .table = table_,
                                 .name = name,
                                 .hook = hook_of(name),
                                 .type = table_ == "nat" ? "nat" : "filter",
                                 .priority = priority_of(table_, name)});
        return rules_.chains.back();
    }

    Origin origin_;
    std::string family_, table_;
    Ruleset rules_;
    std::unordered_map<std::string, std::size_t> places_;  // of chains
    std::size_t number_ = 0;
};

}  // namespace

Result<Ruleset> parse_iptables_save(std::string_view text, Origin origin,
                                    const std::string& family) {
    SaveReader reader(origin, family);
    for (const std::string& line : process::lines_of(text)) {
        TRY(reader.take(line));
    }
    return reader.finish();
}

}  // namespace pathproof::hazards
