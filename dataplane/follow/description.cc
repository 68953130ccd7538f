#include "dataplane/follow/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "dataplane/base/contains.h"
#include "dataplane/base/join_each.h"

namespace pathproof::follow {
namespace {

constexpr std::size_t kMostConditions = 3;
constexpr std::size_t kMostRules = 3;
constexpr std::size_t kBeam = 12;
constexpr std::size_t kMostValues = 3;
constexpr std::size_t kMostAlike = 3;
constexpr std::size_t kFewestLengths = 4;  // of which a remainder is worth a word
constexpr double kMarginBits = 5;          // by which a description is shorter than a list
constexpr double kRuleMarginBits = 8;      // by which another rule makes it shorter

// log2 of the ways to choose `some` of `all`.
double choices(double all, double some) {
    return (std::lgamma(all + 1) - std::lgamma(some + 1) - std::lgamma(all - some + 1)) /
           std::log(2.0);
}

// Traits by how readily a fault hangs on them.
double bits_of(Trait trait) {
    switch (trait) {
        case Trait::kFrameBytes:
        case Trait::kFamily:
        case Trait::kProtocol:
        case Trait::kTunnel:
        case Trait::kVlans:
        case Trait::kFragment:
        case Trait::kOptions: return 3;
        case Trait::kPayloadBytes:
        case Trait::kDestinationPort:
        case Trait::kDontFragment:
        case Trait::kLeftToNic:
        case Trait::kNoUdpChecksum:
        case Trait::kGroup:
        case Trait::kVlan:
        case Trait::kSourceAddress:
        case Trait::kDestinationAddress:
        case Trait::kInterface: return 4;
        case Trait::kTcpOptionBytes:
        case Trait::kHopLimit:
        case Trait::kSourcePort:
        case Trait::kVlanPriority:
        case Trait::kTrafficClass:
        case Trait::kTcpFlags: break;
    }
    return 5;
}

// Traits that not every frame has, and which are not worth a word where it has none.
bool is_optional(Trait trait) {
    return trait == Trait::kTcpFlags || trait == Trait::kVlan || trait == Trait::kVlanPriority ||
           trait == Trait::kSourcePort || trait == Trait::kDestinationPort ||
           trait == Trait::kSourceAddress || trait == Trait::kDestinationAddress;
}

class Bits {
  public:
    explicit Bits(std::size_t size, bool value = false)
        : words_((size + 63) / 64, value ? ~std::uint64_t{0} : 0) {
        if (value && size % 64 != 0) {
            words_.back() = (std::uint64_t{1} << size % 64) - 1;
        }
    }
    void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
    Bits& operator&=(const Bits& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            words_[i] &= other.words_[i];
        }
        return *this;
    }
    Bits& operator|=(const Bits& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            words_[i] |= other.words_[i];
        }
        return *this;
    }
    bool operator==(const Bits&) const = default;
    template <typename Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < words_.size(); ++i) {
            for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
                visit(i * 64 + static_cast<std::size_t>(std::countr_zero(word)));
            }
        }
    }

  private:
    std::vector<std::uint64_t> words_;
};

// The kinds of wrong and of right frames that something fits.
struct Cover {
    Bits wrong;
    Bits right;
    Cover& operator&=(const Cover& other) {
        wrong &= other.wrong;
        right &= other.right;
        return *this;
    }
    bool operator==(const Cover&) const = default;
};

struct Candidate {
    Condition condition;
    Cover cover;
};

struct Choice {
    std::vector<const Candidate*> conditions;
    Cover cover;
    double bits = 0;   // of the conditions
    double saved = 0;  // against a list of the wrong frames
};

std::string residue_text(const std::string& measure, std::uint32_t modulus, std::uint32_t residue) {
    if (modulus == 2) {
        return fmt::format("with an {} {}", residue == 1 ? "odd" : "even", measure);
    }
    if (residue == 0) {
        return fmt::format("with a {} that {} divides", measure, modulus);
    }
    return fmt::format("with a {} of {} more than a multiple of {}", measure, residue, modulus);
}

class Search {
  public:
    Search(std::span<const Alike> wrong, std::span<const Alike> right, const TraitSet& told,
           const std::function<std::string(std::uint32_t)>& address)
        : wrong_(wrong), right_(right), told_(told), address_(address) {}

    // The best rule for those of the wrong frames that are wanted, the others left out.
    std::optional<Choice> best_rule(const Bits& wanted) {
        candidates_.clear();
        wanted_ = &wanted;
        wanted_frames_ = frames(wrong_, wanted);
        add_numbers();
        add_values();
        std::ranges::stable_sort(
            candidates_, {}, [](const Candidate& candidate) { return candidate.condition.bits; });
        const Cover all{wanted, Bits(right_.size(), true)};
        std::vector<Choice> beam = {{.conditions = {}, .cover = all}};
        std::optional<Choice> best;
        for (std::size_t depth = 0; depth < kMostConditions; ++depth) {
            std::vector<Choice> next;
            for (const Choice& choice : beam) {
                extend(choice, next);
            }
            std::ranges::stable_sort(next, std::greater<>(), &Choice::saved);
            next = different(std::move(next));
            if (!next.empty() && (!best || next.front().saved > best->saved)) {
                best = next.front();
            }
            beam = std::move(next);
        }
        return best;
    }

    // Bits that a set of frames saves against a list of `wanted_frames` among all.
    double saving(const Cover& cover, double wanted_frames, double bits) const {
        const double right = right_frames();
        const double fit_wrong = frames(wrong_, cover.wrong);
        const double fit_right = frames(right_, cover.right);
        const double fit = fit_wrong + fit_right;
        const double all = wanted_frames + right;
        return choices(all, wanted_frames) - choices(fit, fit_wrong) -
               choices(all - fit, wanted_frames - fit_wrong) - bits;
    }

    Rule rule_of(const Choice& choice, const Bits& wanted) const {
        Rule rule;
        for (std::size_t i = 0; i < choice.conditions.size(); ++i) {
            rule.conditions.push_back(choice.conditions[i]->condition);
            Cover standing{wanted, Bits(right_.size(), true)};
            for (std::size_t other = 0; other < choice.conditions.size(); ++other) {
                if (other != i) {
                    standing &= choice.conditions[other]->cover;
                }
            }
            auto& alike = rule.alike.emplace_back();
            for (const Candidate& candidate : candidates_) {
                Cover with = standing;
                with &= candidate.cover;
                const bool chosen = contains(choice.conditions, &candidate);
                if (!chosen && alike.size() < kMostAlike && with == choice.cover &&
                    candidate.condition.trait != rule.conditions.back().trait &&
                    !contains(alike, candidate.condition.trait, &Condition::trait)) {
                    alike.push_back(candidate.condition);
                }
            }
        }
        return rule;
    }

    static double frames(std::span<const Alike> kinds, const Bits& which) {
        double sum = 0;
        which.each([&](std::size_t i) { sum += static_cast<double>(kinds[i].frames); });
        return sum;
    }

  private:
    // The first few that do not fit the same frames as one before.
    static std::vector<Choice> different(std::vector<Choice> sorted) {
        std::vector<Choice> few;
        for (Choice& choice : sorted) {
            if (few.size() < kBeam && !contains(few, choice.cover, &Choice::cover)) {
                few.push_back(std::move(choice));
            }
        }
        return few;
    }

    struct Count {
        double wrong = 0;
        double right = 0;
    };
    using Counts = std::map<std::uint32_t, Count>;

    double right_frames() const {
        double sum = 0;
        for (const Alike& alike : right_) {
            sum += static_cast<double>(alike.frames);
        }
        return sum;
    }

    Counts counts_of(Trait trait, std::uint32_t modulus = 0) const {
        Counts counts;
        const auto value = [&](const Alike& alike) {
            const std::uint32_t number = alike.traits[bit(trait)];
            return modulus == 0 ? number : number % modulus;
        };
        wanted_->each([&](std::size_t i) {
            counts[value(wrong_[i])].wrong += static_cast<double>(wrong_[i].frames);
        });
        for (const Alike& alike : right_) {
            counts[value(alike)].right += static_cast<double>(alike.frames);
        }
        return counts;
    }

    void add(Condition condition) {
        Candidate candidate{std::move(condition), {Bits(wrong_.size()), Bits(right_.size())}};
        wanted_->each([&](std::size_t i) {
            if (candidate.condition.fits(wrong_[i].traits)) {
                candidate.cover.wrong.set(i);
            }
        });
        bool any_out = false;
        for (std::size_t i = 0; i < right_.size(); ++i) {
            if (candidate.condition.fits(right_[i].traits)) {
                candidate.cover.right.set(i);
            } else {
                any_out = true;
            }
        }
        if (any_out) {
            candidates_.push_back(std::move(candidate));
        }
    }

    // `low` and `high`: numbers of wrong frames.
    void add_range(Trait trait, const Counts& counts, std::uint32_t low, std::uint32_t high) {
        Condition condition{.trait = trait, .low = low, .high = high};
        for (const auto& [number, count] : counts) {
            if (count.right == 0) {
                continue;
            }
            if (number < low) {
                condition.right_below = number;
            } else if (number > high && !condition.right_above) {
                condition.right_above = number;
            }
        }
        if (!condition.right_below && !condition.right_above) {
            return;
        }
        const double value_bits = std::log2(1.0 + static_cast<double>(counts.size()));
        const bool both = condition.right_below && condition.right_above;
        // A border that wrong frames of one number show may be one of something else.
        const bool one = std::ranges::count_if(counts, [&](const auto& entry) {
                             return entry.second.wrong != 0 && condition.fits_number(entry.first);
                         }) == 1;
        condition.bits =
            bits_of(trait) + value_bits * (both ? 2 : 1) + (both ? 1 : 0) + (one ? 5 : 0);
        condition.word_range();
        add(std::move(condition));
    }

    // The ends of the numbers of wrong frames, and the borders that save most.
    void add_numbers() {
        for (std::size_t i = 0; i < kNumbers; ++i) {
            const auto trait = static_cast<Trait>(i);
            if (!told_.test(i)) {
                continue;
            }
            const Counts counts = counts_of(trait);
            std::vector<std::uint32_t> wrong;
            for (const auto& [number, count] : counts) {
                if (count.wrong != 0) {
                    wrong.push_back(number);
                }
            }
            add_range(trait, counts, wrong.front(), wrong.back());
            add_borders(trait, counts, wrong);
            const bool is_length = trait == Trait::kFrameBytes || trait == Trait::kPayloadBytes;
            if (is_length && wrong.size() >= kFewestLengths) {
                add_residues(trait);
            }
        }
    }

    void add_borders(Trait trait, const Counts& counts, const std::vector<std::uint32_t>& wrong) {
        double right = 0;
        for (const auto& [number, count] : counts) {
            right += count.right;
        }
        const double all = wanted_frames_ + right;
        double best_up = 0, best_down = 0;
        std::optional<std::uint32_t> from, until;
        Count below;
        const auto saved = [&](double fit_wrong, double fit_right) {
            const double fit = fit_wrong + fit_right;
            return choices(all, wanted_frames_) - choices(fit, fit_wrong) -
                   choices(all - fit, wanted_frames_ - fit_wrong);
        };
        for (const auto& [number, count] : counts) {
            if (count.wrong != 0) {
                const double up = saved(wanted_frames_ - below.wrong, right - below.right);
                if (up > best_up) {
                    best_up = up;
                    from = number;
                }
            }
            below.wrong += count.wrong;
            below.right += count.right;
            if (count.wrong != 0) {
                const double down = saved(below.wrong, below.right);
                if (down > best_down) {
                    best_down = down;
                    until = number;
                }
            }
        }
        if (from && *from != wrong.front()) {
            add_range(trait, counts, *from, wrong.back());
        }
        if (until && *until != wrong.back()) {
            add_range(trait, counts, wrong.front(), *until);
        }
        // The extremes without their other end.
        if (counts.begin()->first < wrong.front() && counts.rbegin()->first > wrong.back()) {
            add_range(trait, counts, wrong.front(), counts.rbegin()->first);
            add_range(trait, counts, counts.begin()->first, wrong.back());
        }
    }

    void add_residues(Trait trait) {
        const std::string what = trait == Trait::kFrameBytes ? "length" : "payload";
        for (std::uint32_t modulus = 2; modulus <= 256; modulus *= 2) {
            const Counts counts = counts_of(trait, modulus);
            std::uint32_t residue = 0;
            unsigned residues = 0;
            for (const auto& [number, count] : counts) {
                if (count.wrong != 0) {
                    residue = number;
                    ++residues;
                }
            }
            if (residues != 1 || counts.size() == 1) {
                continue;
            }
            add({.kind = Condition::Kind::kResidue,
                 .trait = trait,
                 .right_below = {},
                 .right_above = {},
                 .modulus = modulus,
                 .residue = residue,
                 .values = {},
                 .text = residue_text(what, modulus, residue),
                 .bits = bits_of(trait) + 2 * std::log2(modulus)});
        }
    }

    void add_set(Trait trait, const Counts& counts, const std::vector<std::uint32_t>& inside) {
        std::vector<std::uint32_t> outside;
        for (const auto& [value, count] : counts) {
            if (count.right != 0 && !std::ranges::binary_search(inside, value)) {
                outside.push_back(value);
            }
        }
        const bool others = outside.size() < inside.size();
        const std::vector<std::uint32_t>& named = others ? outside : inside;
        const bool names_none = contains(named, 0U) && is_optional(trait);
        if (outside.empty() || named.size() > kMostValues || names_none) {
            return;
        }
        const auto text = [&](std::uint32_t value) {
            return trait_text(trait, value, address_text_of(value));
        };
        std::string phrase = join_each(named, text, " or ");
        add({.kind = others ? Condition::Kind::kOthers : Condition::Kind::kValues,
             .trait = trait,
             .right_below = {},
             .right_above = {},
             .values = named,
             .text = others ? "other than " + phrase : phrase,
             .bits = bits_of(trait) + (others ? 1 : 0) +
                     static_cast<double>(named.size()) *
                         std::log2(1.0 + static_cast<double>(counts.size()))});
    }

    void add_values() {
        for (std::size_t i = 0; i < kTraits; ++i) {
            const auto trait = static_cast<Trait>(i);
            const bool is_value =
                i >= kNumbers || trait == Trait::kSourcePort || trait == Trait::kDestinationPort;
            if (!told_.test(i) || !is_value) {
                continue;
            }
            const Counts counts = counts_of(trait);
            std::vector<std::uint32_t> all;
            std::vector<std::uint32_t> most;
            for (const auto& [value, count] : counts) {
                if (count.wrong != 0) {
                    all.push_back(value);
                    if (count.wrong >= count.right) {
                        most.push_back(value);
                    }
                }
            }
            add_set(trait, counts, all);
            if (!most.empty() && most != all) {
                add_set(trait, counts, most);
            }
        }
    }

    std::string address_text_of(std::uint32_t value) const {
        if (std::string text = address_(value); !text.empty()) {
            return text;
        }
        const std::uint8_t four[4] = {
            static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
            static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
        return address_text(four);
    }

    void extend(const Choice& choice, std::vector<Choice>& next) const {
        for (const Candidate& candidate : candidates_) {
            Choice longer = choice;
            longer.cover &= candidate.cover;
            if (longer.cover == choice.cover) {
                continue;
            }
            longer.conditions.push_back(&candidate);
            longer.bits += candidate.condition.bits;
            longer.saved = saving(longer.cover, wanted_frames_, longer.bits);
            next.push_back(std::move(longer));
        }
    }

    std::span<const Alike> wrong_;
    std::span<const Alike> right_;
    TraitSet told_;
    const std::function<std::string(std::uint32_t)>& address_;
    const Bits* wanted_ = nullptr;
    double wanted_frames_ = 0;
    std::vector<Candidate> candidates_;
};

// "IPv4 UDP frames of more than 1398 bytes, with a VLAN tag".
std::string text_of(const Rule& rule) {
    std::string before, behind, alike;
    for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
        const Condition& condition = rule.conditions[i];
        const bool names_kind =
            condition.kind == Condition::Kind::kValues &&
            (condition.trait == Trait::kFamily || condition.trait == Trait::kProtocol) &&
            condition.text != "without IP";
        if (names_kind) {
            before += condition.text + " ";
        } else {
            behind += (behind.empty() ? " " : ", ") + condition.text;
        }
        if (rule.alike[i].empty()) {
            continue;
        }
        const std::string others = join_each(rule.alike[i], &Condition::text, "; ");
        alike +=
            rule.conditions.size() == 1
                ? fmt::format(" (the same frames: {})", others)
                : fmt::format(" (the same frames, in place of '{}': {})", condition.text, others);
    }
    return before + "frames" + behind + alike;
}

}  // namespace

bool Condition::fits_number(std::uint32_t value) const {
    switch (kind) {
        case Kind::kRange:
            return (!right_below || value > *right_below) && (!right_above || value < *right_above);
        case Kind::kResidue: return value % modulus == residue;
        case Kind::kValues: return contains(values, value);
        case Kind::kOthers: return !contains(values, value);
    }
    return false;
}

void Condition::word_range() {
    if (right_below && right_above) {
        text = number_text(trait,
                           low == high ? std::to_string(low) : fmt::format("{} to {}", low, high));
        if (*right_below + 1 != low || *right_above != high + 1) {
            text += fmt::format(" (right: up to {}, from {} on)", *right_below, *right_above);
        }
    } else if (right_below) {
        text = *right_below + 1 == low
                   ? number_text(trait, fmt::format("more than {}", *right_below))
                   : number_text(trait, fmt::format("{} or more", low)) +
                         fmt::format(" (right: up to {})", *right_below);
    } else if (right_above) {
        text = *right_above == high + 1
                   ? number_text(trait, fmt::format("less than {}", *right_above))
                   : number_text(trait, fmt::format("{} or less", high)) +
                         fmt::format(" (right: from {} on)", *right_above);
    }
}

bool Condition::fits(const Traits& traits) const {
    return fits_number(traits[bit(trait)]);
}

bool Rule::fits(const Traits& traits) const {
    return std::ranges::all_of(conditions,
                               [&](const Condition& condition) { return condition.fits(traits); });
}

void Description::word() {
    text = join_each(rules, text_of, ", or ");
}

std::string Description::sentence() const {
    if (rules.empty()) {
        return "";
    }
    const std::uint64_t fit = wrong_that_fit + right_that_fit;
    const std::uint64_t others = wrong + right - fit;
    const std::string of_them = right_that_fit == 0
                                    ? fmt::format("all {} of them are wrong", fit)
                                    : fmt::format("{} of {} are wrong", wrong_that_fit, fit);
    const std::string of_others =
        wrong_that_fit == wrong
            ? fmt::format("none of {} {}", others, others == 1 ? "other" : "others")
            : fmt::format("{} of {} others", wrong - wrong_that_fit, others);
    return fmt::format("{}: {}, {}", text, of_them, of_others);
}

Description describe(std::span<const Alike> wrong, std::span<const Alike> right,
                     const TraitSet& told,
                     const std::function<std::string(std::uint32_t)>& address) {
    Description description;
    const Bits all_wrong(wrong.size(), true);
    const Bits all_right(right.size(), true);
    description.wrong = static_cast<std::uint64_t>(Search::frames(wrong, all_wrong));
    description.right = static_cast<std::uint64_t>(Search::frames(right, all_right));
    if (wrong.empty() || right.empty()) {
        return description;
    }
    Search search(wrong, right, told, address);
    Bits left = all_wrong;
    Cover covered{Bits(wrong.size()), Bits(right.size())};
    double bits = 0;
    double saved = kMarginBits;
    while (description.rules.size() < kMostRules && Search::frames(wrong, left) >= 1) {
        const auto choice = search.best_rule(left);
        if (!choice) {
            break;
        }
        Cover with = covered;
        with.wrong |= choice->cover.wrong;
        with.right |= choice->cover.right;
        // A further rule says which of the rules before it are "or", too.
        const double now =
            search.saving(with, static_cast<double>(description.wrong), bits + choice->bits);
        const double margin = description.rules.empty() ? 0 : kRuleMarginBits;
        if (now < saved + margin) {
            break;
        }
        description.rules.push_back(search.rule_of(*choice, left));
        covered = std::move(with);
        bits += choice->bits;
        saved = now;
        Bits rest(wrong.size());
        left.each([&](std::size_t i) {
            if (!description.rules.back().fits(wrong[i].traits)) {
                rest.set(i);
            }
        });
        left = std::move(rest);
    }
    const auto fits = [&](const Alike& alike) {
        return std::ranges::any_of(description.rules,
                                   [&](const Rule& rule) { return rule.fits(alike.traits); });
    };
    for (const Alike& alike : wrong) {
        if (fits(alike)) {
            description.wrong_that_fit += alike.frames;
        } else if (description.left_out.number == 0) {
            description.left_out = alike.first;
        }
    }
    for (const Alike& alike : right) {
        if (fits(alike)) {
            description.right_that_fit += alike.frames;
            if (description.counter_example.number == 0) {
                description.counter_example = alike.first;
            }
        }
    }
    description.word();
    return description;
}

}  // namespace pathproof::follow
