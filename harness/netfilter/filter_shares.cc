#include <algorithm>

#include "harness/netfilter/kernel_filter.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/tuple_message.h"

namespace pathproof::netfilter {
namespace {

// Sorts the words of a filter into those that the kernel selects by and the others.
class Sorter {
  public:
    Sorter(const Filter& filter, const KernelFilterSupport& support)
        : filter_(filter), heeded_(known_to_select(support)) {}

    FilterShares sort() {
        entry_words();
        tuple_words("", filter_.original);
        tuple_words("reply-", filter_.reply);
        own_words();
        return std::move(shares_);
    }

  private:
    enum class Who { kKernel, kUs };
    Who who(Clause clause) const { return kernel_if(heeded_.use(clause)); }
    static Who kernel_if(bool selects) { return selects ? Who::kKernel : Who::kUs; }

    // Only a clause that is known to be heeded counts as the kernel's work.
    static KernelFilterSupport known_to_select(KernelFilterSupport support) {
        std::ranges::replace(support.behaviour, Behaviour::kNotTried, Behaviour::kIgnores);
        return support;
    }

    void add(Who who, std::string word) {
        (who == Who::kKernel ? shares_.kernel : shares_.here).push_back(std::move(word));
    }

    void entry_words() {
        if (filter_.family) {
            add(Who::kKernel, *filter_.family == frame::Family::kIpv4 ? "ipv4" : "ipv6");
        }
        if (filter_.protocol) {
            const std::uint32_t parts = tuple_parts(filter_, filter_.original, heeded_);
            add(kernel_if((parts & part::kProtocol) != 0),
                fmt::format("proto={}", *filter_.protocol));
        }
        if (filter_.zone) {
            add(who(Clause::kZone), fmt::format("zone={}", *filter_.zone));
        }
        if (filter_.mark) {
            add(who(Clause::kMark),
                fmt::format("mark={:#x}/{:#x}", filter_.mark->value, filter_.mark->mask));
        }
        status_words();
    }

    void status_words() {
        std::string words;
        for (const std::string& set : status_names(filter_.status_set)) {
            words += (words.empty() ? "status=" : ",") + set;
        }
        for (const std::string& clear : status_names(filter_.status_clear)) {
            words += (words.empty() ? "status=!" : ",!") + clear;
        }
        if (!words.empty()) {
            add(who(Clause::kStatus), words);
        }
    }

    void address_word(Who who, const std::string& word, const std::optional<AddressRange>& range) {
        if (range) {
            const bool whole = range->prefix_bits == range->address.size() * 8;
            add(who, fmt::format("{}={}{}", word, frame::to_string(range->address),
                                 whole ? "" : fmt::format("/{}", range->prefix_bits)));
        }
    }

    template <typename Number>
    void number_word(Who who, const std::string& word, const std::optional<Number>& number) {
        if (number) {
            add(who, fmt::format("{}={}", word, *number));
        }
    }

    void tuple_words(const std::string& prefix, const TupleFilter& tuple) {
        const std::uint32_t parts = tuple_parts(filter_, tuple, heeded_);
        const auto of = [&](std::uint32_t either) { return kernel_if((parts & either) != 0); };
        address_word(of(part::kSourceAddress), prefix + "src", tuple.source);
        address_word(of(part::kDestinationAddress), prefix + "dst", tuple.destination);
        number_word(of(part::kSourcePort), prefix + "sport", tuple.source_port);
        number_word(of(part::kDestinationPort), prefix + "dport", tuple.destination_port);
        const Who icmp = of(part::kIcmp | part::kIcmpv6);
        number_word(icmp, prefix + "icmp-type", tuple.icmp_type);
        number_word(icmp, prefix + "icmp-code", tuple.icmp_code);
        number_word(icmp, prefix + "icmp-id", tuple.icmp_id);
        number_word(Who::kUs, prefix.empty() ? "orig-zone" : "reply-zone", tuple.zone);
    }

    // Adds the words that no kernel selects by.
    void own_words() {
        address_word_here("addr", filter_.any_address);
        number_word(Who::kUs, "port", filter_.any_port);
        if (filter_.nat) {
            const char* kinds[] = {"src-nat", "dst-nat", "any-nat"};
            const char* kind = kinds[static_cast<int>(filter_.nat->kind)];
            filter_.nat->to ? address_word_here(kind, filter_.nat->to) : add(Who::kUs, kind);
        }
        number_word(Who::kUs, "id", filter_.id);
        for (const auto& [word, text] :
             {std::pair("state", &filter_.state), std::pair("helper", &filter_.helper),
              std::pair("secctx", &filter_.security_context)}) {
            if (!text->empty()) {
                add(Who::kUs, fmt::format("{}={}", word, *text));
            }
        }
        for (const unsigned label : filter_.labels) {
            add(Who::kUs, fmt::format("label={}", label));
        }
    }

    void address_word_here(const std::string& word, const std::optional<AddressRange>& range) {
        if (range) {
            add(Who::kUs, fmt::format("{}={}/{}", word, frame::to_string(range->address),
                                      range->prefix_bits));
        }
    }

    const Filter& filter_;
    const KernelFilterSupport heeded_;
    FilterShares shares_;
};

}  // namespace

const char* name(Clause clause) {
    switch (clause) {
        case Clause::kMark: return "mark";
        case Clause::kStatus: return "status";
        case Clause::kZone: return "zone";
        case Clause::kIpv4Address: return "IPv4 address";
        case Clause::kIpv6Address: return "IPv6 address";
        case Clause::kProtocol: return "protocol";
        case Clause::kPorts: return "ports";
        case Clause::kIcmp: return "ICMP";
        case Clause::kIcmpv6: return "ICMPv6";
    }
    return "";
}

const char* name(Behaviour behaviour) {
    switch (behaviour) {
        case Behaviour::kSelects: return "selects";
        case Behaviour::kIgnores: return "ignores it";
        case Behaviour::kRefuses: return "refuses it";
        case Behaviour::kInverts: return "leaves out what matches";
        case Behaviour::kNotTried: return "was not tried";
    }
    return "";
}

bool KernelFilterSupport::use(Clause clause) const {
    return of(clause) == Behaviour::kSelects ||
           (of(clause) == Behaviour::kNotTried && clause != Clause::kIpv6Address);
}

FilterShares filter_shares(const Filter& filter, const KernelFilterSupport& support) {
    return Sorter(filter, support).sort();
}

}  // namespace pathproof::netfilter
