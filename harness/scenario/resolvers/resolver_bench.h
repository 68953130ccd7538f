// A client whose names real resolvers look up, and a DNS server of ours behind the DUT: many lookups
// side by side, each query followed on both wires and at the server.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/resolver/resolver.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/nat_path_hosts.h"
#include "harness/scenario/resolvers/resolver_trail.h"

namespace pathproof::scenario {

struct AskedLookup {
    resolver::Kind who = resolver::Kind::kGlibc;
    resolver::Lookup lookup;  // its first label is that of no other, in lower case
    bool paced = false;       // begun one every 250 ms, beside the others
};

struct LookupTrail {
    resolver::Outcome outcome;
    std::vector<QueryTrail> queries;  // in the order of sending
};

// Frames that the three hosts received in a round.
struct RoundFrames {
    std::vector<agent::CapturedFrame> at_client, at_dut, at_server;
};

class ResolverHosts {
  public:
    // kKernelLacks where the client's resolv.conf cannot be one of its own.
    static Result<ResolverHosts> open(Context& context);

    // Returns the reason why lookups by that resolver cannot be made; empty: they can.
    const std::string& lacks(resolver::Kind who);
    // resolv.conf(5) of a client of our server.
    std::string resolv_conf(const std::vector<std::string>& search,
                            const std::string& options) const;

    // Answers as the rules say while all lookups are made, each after the delay.
    // `frames`: where to put what the hosts received; null: not wanted.
    Result<std::vector<LookupTrail>> round(const std::vector<AskedLookup>& lookups,
                                           agent::DnsRules rules, agent::milliseconds delay = {},
                                           RoundFrames* frames = nullptr);
    // The hosts have these settings from now on.
    Status set(const setting::Settings& settings) { return hosts_.set(settings); }
    const lab::NatPathNames& names() const { return hosts_.names(); }
    Result<std::uint64_t> packets() const { return hosts_.client_packets(); }
    // Datagrams that the DUT joined of fragments, since it is there (Ip.ReasmOKs, conntrack's included).
    Result<std::uint64_t> reassembled() const;

  private:
    Result<std::unique_ptr<agent::DnsServer>> serve(agent::DnsRules rules,
                                                    agent::milliseconds delay) const;

    NatPathHosts hosts_;
    std::map<resolver::Kind, std::string> lacks_;  // those that were tried
};

// Returns the resolver that one part of a cell's id names: "musl", "go", "resolved"; else glibc's.
resolver::Kind resolver_in(const std::string& id);

// The server answers for names that end so, with 203.0.113.5 and 2001:db8::5.
agent::DnsRule found_rule(const std::string& name);

// A line a lookup, for evidence files.
std::string trail_text(const std::string& name, const LookupTrail& trail);

// Runs the lookups of cells side by side, because some wait for many seconds; all share the server.
// The first call of measure() runs every cell that does not come after a cure; the first call for a
// cell after a cure runs the others. `What` holds the resolver that a cell asks (`who`) and whether
// the cell comes after a cure (`again`); `Seen` holds the reason why a resolver cannot be asked
// (`lacking`).
template <typename What, typename Seen>
class SideBySide {
  public:
    SideBySide(Context& context, std::vector<What> plan)
        : context_(context), plan_(std::move(plan)) {}
    SideBySide(const SideBySide&) = delete;
    SideBySide& operator=(const SideBySide&) = delete;
    virtual ~SideBySide() = default;

    Status open() {
        hosts_ = TRY(ResolverHosts::open(context_));
        return {};
    }
    Measurement<What, Seen> measure(const What& what) {
        if (!taken_.contains(what.id)) {
            run(what.again);
        }
        const Taken& taken = taken_[what.id];
        Measurement<What, Seen> cell{.what = what, .seen = taken.seen, .evidence = {}};
        keep_evidence(context_.options.out_dir, what.id + ".lookups.txt", lookups_told(),
                      taken.text, cell.evidence);
        return cell;
    }

  protected:
    struct Taken {
        Seen seen;
        std::string text;  // of the lookups, for the evidence
    };

    // Lookups that go together, each of a cell, and what the server says to them.
    struct Round {
        std::vector<AskedLookup> asked;
        std::vector<What> of;  // as many
        std::vector<agent::DnsRule> rules;
        std::vector<agent::DnsLoss> losses;

        void ask(const What& what, AskedLookup lookup) {
            of.push_back(what);
            asked.push_back(std::move(lookup));
        }
    };

    virtual void plan(const What& what, Seen& seen, Round& round) = 0;
    // Returns the server's rules for all names for which no cell has one.
    virtual std::vector<agent::DnsRule> otherwise() const = 0;
    // Adds the trail of a lookup of that name to its cell.
    virtual void take(const What& what, const std::string& asked, const LookupTrail& trail,
                      Taken& of_cell) = 0;
    // Names, for the evidence's description, the lookups that it has.
    virtual const char* lookups_told() const = 0;

    ResolverHosts& hosts() { return hosts_; }
    // The first label of a lookup's name, that of no other.
    std::string next_label() { return fmt::format("n{:05}", ++names_); }

  private:
    void run(bool again) {
        Round round;
        for (const What& what : plan_) {
            if (what.again == again && asked_for(context_.options, what.id)) {
                Seen& seen = taken_[what.id].seen;
                seen.lacking = hosts_.lacks(what.who);
                if (seen.lacking.empty()) {
                    plan(what, seen, round);
                }
            }
        }
        std::ranges::move(otherwise(), std::back_inserter(round.rules));
        const auto trails = hosts_.round(
            round.asked, {.rules = std::move(round.rules), .losses = std::move(round.losses)});
        for (std::size_t i = 0; i < round.of.size(); ++i) {
            Taken& of_cell = taken_[round.of[i].id];
            if (trails) {
                take(round.of[i], round.asked[i].lookup.name, (*trails)[i], of_cell);
            } else {
                of_cell.seen.objections.push_back(trails.error().message);
            }
        }
    }

    Context& context_;
    ResolverHosts hosts_;
    const std::vector<What> plan_;
    std::map<std::string, Taken> taken_;  // by the cell's id
    unsigned names_ = 0;
};

}  // namespace pathproof::scenario
