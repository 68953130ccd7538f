#include "harness/cli/generate/study.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "dataplane/base/contains.h"
#include "dataplane/follow/variant.h"
#include "harness/cli/generate/replay_options.h"

namespace pathproof::cli {
namespace {

using follow::Class;
using follow::Condition;
using follow::Trait;
using follow::Traits;
using frame::Bytes;
using frame::ByteVector;

constexpr std::uint32_t kEach = 3;            // frames of one make
constexpr std::uint32_t kAtOnce = 15;         // numbers of one round
constexpr unsigned kRounds = 6;               // 15 at once: a gap of 65,000 takes four
constexpr std::size_t kFindings = 2;          // that are studied
constexpr std::size_t kLookedThrough = 4096;  // frames among which a like one is looked for

// The ends of frames of one make.
struct Tally {
    std::uint32_t wrong = 0;
    std::uint32_t right = 0;
    bool all_wrong() const { return wrong == kEach; }
    bool all_right() const { return right == kEach; }
    std::string text() const {
        return all_right()   ? fmt::format("{} of {} right", right, kEach)
               : all_wrong() ? fmt::format("{} of {} wrong", wrong, kEach)
                             : fmt::format("{} right, {} wrong of {}", right, wrong, kEach);
    }
};

bool is_wrong(Class fate) {
    return fate == Class::kMissing || fate == Class::kDamaged || fate == Class::kChanged ||
           fate == Class::kDoubled;
}

std::size_t differing(const Traits& one, const Traits& other) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < follow::kTraits; ++i) {
        count += one[i] != other[i] ? 1 : 0;
    }
    return count;
}

class Study {
  public:
    Study(Courier& courier, std::span<const Bytes> sent, std::span<const Class> fates,
          follow::Finding& finding)
        : courier_(courier), sent_(sent), fates_(fates), finding_(finding) {}

    Status carry_out() {
        if (!find_specimens()) {
            return {};
        }
        const auto control = TRY(ask({wrong_, right_}));
        if (!control[0].all_wrong() || !control[1].all_right()) {
            line(
                fmt::format("frames like it are not wrong each time (like the wrong one: {}; like "
                            "a right one: {}): not confirmed",
                            control[0].text(), control[1].text()));
            return {};
        }
        follow::Rule& rule = finding_.description.rules.front();
        for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
            TRY(tell_apart(rule, i));
            TRY(confirm(rule, i));
            // A border that was found may tell what its gap did not.
            TRY(tell_apart(rule, i));
            for (const Condition& other : rule.alike[i]) {
                line(
                    fmt::format("not told from '{}': no frame was found that has one of them alone",
                                other.text));
            }
        }
        const std::string before = finding_.description.sentence();
        finding_.description.word();
        if (finding_.located.starts_with(before)) {
            finding_.located.replace(0, before.size(), finding_.description.sentence());
        }
        return {};
    }

  private:
    void line(std::string text) { finding_.confirmed.push_back(std::move(text)); }

    // A wrong frame that the first rule fits, and the right one that it does not fit and that is most
    // like it.
    bool find_specimens() {
        const follow::Rule& rule = finding_.description.rules.front();
        const std::size_t frames = std::min({sent_.size(), fates_.size(), kLookedThrough});
        Traits wrong{};
        for (std::size_t i = 0; i < frames && wrong_.empty(); ++i) {
            const Traits traits = follow::traits_of(sent_[i]);
            if (fates_[i] == finding_.fault && rule.fits(traits)) {
                wrong_.assign(sent_[i].begin(), sent_[i].end());
                wrong = traits;
            }
        }
        std::size_t least = follow::kTraits + 1;
        for (std::size_t i = 0; i < frames && !wrong_.empty(); ++i) {
            if (fates_[i] != Class::kAsSent) {
                continue;
            }
            const Traits traits = follow::traits_of(sent_[i]);
            if (const std::size_t far = differing(traits, wrong);
                !rule.fits(traits) && far < least) {
                least = far;
                right_.assign(sent_[i].begin(), sent_[i].end());
            }
        }
        return !wrong_.empty() && !right_.empty();
    }

    Result<std::vector<Tally>> ask(const std::vector<ByteVector>& makes) {
        std::vector<ByteVector> frames;
        for (const ByteVector& make : makes) {
            for (std::uint32_t i = 0; i < kEach; ++i) {
                frames.push_back(follow::with_number(make, ++made_));
            }
        }
        const ReplayJudgement judged =
            TRY(courier_.send(std::move(frames), "frames made for a finding"));
        std::vector<Tally> tallies(makes.size());
        for (std::size_t i = 0; i < judged.fates.size() && i / kEach < makes.size(); ++i) {
            Tally& tally = tallies[i / kEach];
            tally.wrong += is_wrong(judged.fates[i]) ? 1 : 0;
            tally.right += judged.fates[i] == Class::kAsSent ? 1 : 0;
        }
        return tallies;
    }

    Status confirm(follow::Rule& rule, std::size_t i) {
        Condition& condition = rule.conditions[i];
        if (condition.kind == Condition::Kind::kRange) {
            const std::optional<std::uint32_t> below = condition.right_below;
            const std::optional<std::uint32_t> above = condition.right_above;
            if (below) {
                TRY(find_border(rule, i, *below, nearest_wrong(condition, true)));
            }
            if (above) {
                TRY(find_border(rule, i, *above, nearest_wrong(condition, false)));
            }
            return {};
        }
        const Traits wrong = follow::traits_of(wrong_);
        const Traits right = follow::traits_of(right_);
        const std::size_t trait = bit(condition.trait);
        const std::uint32_t other = condition.kind == Condition::Kind::kResidue ? wrong[trait] + 1
                                    : condition.fits(right) ? other_value(condition, wrong[trait])
                                                            : right[trait];
        const auto made = follow::with_trait(wrong_, condition.trait, other);
        if (!made || condition.fits(follow::traits_of(*made))) {
            line(fmt::format("'{}' is not confirmed: no such frame can be made of another",
                             condition.text));
            return {};
        }
        const Tally tally = TRY(ask({*made})).front();
        line(fmt::format(
            "the same frame {}: {}{}", follow::trait_text(condition.trait, other, ""), tally.text(),
            tally.all_right() ? ""
                              : fmt::format("; it does not hang on '{}' alone", condition.text)));
        return {};
    }

    static std::uint32_t other_value(const Condition& condition, std::uint32_t value) {
        std::uint32_t other = value == 0 ? 1 : value - 1;
        while (condition.fits_number(other) && other != 0) {
            --other;
        }
        return other;
    }

    // The number of the wrong specimen, or that of the finding's frames which is nearest to the border.
    std::uint32_t nearest_wrong(const Condition& condition, bool lowest) const {
        const std::uint32_t own = follow::traits_of(wrong_)[bit(condition.trait)];
        const std::uint32_t edge = lowest ? condition.low : condition.high;
        return edge != 0 && condition.fits_number(edge) ? edge : own;
    }

    // Halves the gap, fifteen numbers at a time, until right and wrong stand side by side.
    Status find_border(follow::Rule& rule, std::size_t number, std::uint32_t right,
                       std::uint32_t wrong) {
        Condition& condition = rule.conditions[number];
        const bool above = wrong > right;
        std::optional<Tally> at_right, at_wrong;
        bool sharp = true;
        for (unsigned round = 0; round < kRounds && sharp; ++round) {
            const std::uint32_t low = std::min(right, wrong), high = std::max(right, wrong);
            if (at_right && at_wrong && high - low <= 1) {
                break;
            }
            std::vector<std::uint32_t> numbers = {low, high};
            const std::uint32_t inside = std::min(high - low - 1, kAtOnce);
            for (std::uint32_t i = 1; i <= inside; ++i) {
                numbers.push_back(
                    low + static_cast<std::uint32_t>(std::uint64_t{high - low} * i / (inside + 1)));
            }
            std::ranges::sort(numbers);
            numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
            std::vector<ByteVector> makes;
            std::vector<std::uint32_t> made;
            for (const std::uint32_t value : numbers) {
                if (auto make = follow::with_trait(wrong_, condition.trait, value)) {
                    makes.push_back(std::move(*make));
                    made.push_back(value);
                }
            }
            if (!contains(made, right) || !contains(made, wrong)) {
                line(fmt::format("'{}' is not confirmed: no such frame can be made of another",
                                 condition.text));
                return {};
            }
            const auto tallies = TRY(ask(makes));
            std::optional<std::uint32_t> last_right, first_wrong;
            for (std::size_t k = 0; k < made.size(); ++k) {
                const std::size_t i = above ? k : made.size() - 1 - k;
                const Tally& tally = tallies[i];
                if (tally.all_right() && !first_wrong) {
                    last_right = made[i];
                    at_right = tally;
                } else if (tally.all_wrong() && last_right) {
                    if (!first_wrong) {
                        first_wrong = made[i];
                        at_wrong = tally;
                    }
                } else {
                    sharp = false;
                }
            }
            if (!sharp || !last_right || !first_wrong) {
                line(fmt::format("'{}' has no sharp border: {}", condition.text,
                                 listed(condition.trait, made, tallies)));
                return {};
            }
            right = *last_right;
            wrong = *first_wrong;
        }
        line(fmt::format(
            "{}: {}; {}: {}", follow::number_text(condition.trait, std::to_string(right)),
            at_right->text(), follow::number_text(condition.trait, std::to_string(wrong)),
            at_wrong->text()));
        narrow(rule, number, right, wrong);
        return {};
    }

    static std::string listed(Trait trait, const std::vector<std::uint32_t>& numbers,
                              const std::vector<Tally>& tallies) {
        std::vector<std::string> parts;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            parts.push_back(fmt::format("{} {}", numbers[i], tallies[i].text()));
        }
        return fmt::format("{}",
                           follow::number_text(trait, fmt::format("{}", fmt::join(parts, ", "))));
    }

    // Puts the border into the description, and into other numbers that follow from it.
    void narrow(follow::Rule& rule, std::size_t number, std::uint32_t right, std::uint32_t wrong) {
        const Trait trait = rule.conditions[number].trait;
        const auto right_frame = follow::with_trait(wrong_, trait, right);
        const auto wrong_frame = follow::with_trait(wrong_, trait, wrong);
        const Traits at_right = follow::traits_of(*right_frame);
        const Traits at_wrong = follow::traits_of(*wrong_frame);
        const auto put = [&](Condition& condition) {
            const std::uint32_t r = at_right[bit(condition.trait)];
            const std::uint32_t w = at_wrong[bit(condition.trait)];
            if (condition.kind != Condition::Kind::kRange || r == w) {
                return;
            }
            if (w > r && condition.right_below) {
                condition.right_below = r;
                condition.low = w;
            } else if (w < r && condition.right_above) {
                condition.right_above = r;
                condition.high = w;
            }
            condition.word_range();
        };
        put(rule.conditions[number]);
        for (Condition& other : rule.alike[number]) {
            put(other);
        }
    }

    // One change that a frame can be given.
    struct Change {
        Trait trait;
        std::uint32_t value;
    };
    static std::vector<Change> changes_of(const Traits& traits, const Condition& a,
                                          const Condition& b) {
        std::vector<Change> all = {{Trait::kVlans, traits[bit(Trait::kVlans)] == 0 ? 1U : 0U}};
        for (const Condition* const condition : {&a, &b}) {
            const std::uint32_t value = traits[bit(condition->trait)];
            if (condition->kind == Condition::Kind::kRange) {
                for (const auto& edge : {condition->right_below, condition->right_above}) {
                    if (edge) {
                        all.push_back({condition->trait, *edge});
                    }
                }
                continue;
            }
            for (const std::uint32_t other : {value + 1, value == 0 ? 0 : value - 1, 0U, 1U}) {
                all.push_back({condition->trait, other});
            }
        }
        return all;
    }

    // Frames that one of two conditions fits and the other does not: which of them the fault goes with.
    Status tell_apart(follow::Rule& rule, std::size_t number) {
        std::vector<Condition> left;
        for (const Condition& other : std::vector<Condition>(rule.alike[number])) {
            const Condition named = rule.conditions[number];
            const auto which = TRY(ask_between(rule, number, named, other));
            if (!which) {
                left.push_back(other);
            } else if (!*which) {
                rule.conditions[number] = other;
            }
        }
        rule.alike[number] = std::move(left);
        return {};
    }

    // True: the first; nothing: no frame tells.
    Result<std::optional<bool>> ask_between(const follow::Rule& rule, std::size_t number,
                                            const Condition& named, const Condition& other) {
        std::vector<ByteVector> bases = {wrong_};
        for (const Condition* const condition : {&named, &other}) {
            for (const auto& edge : {condition->right_below, condition->right_above}) {
                const bool range = condition->kind == Condition::Kind::kRange;
                if (auto base = range && edge ? follow::with_trait(wrong_, condition->trait, *edge)
                                              : std::nullopt) {
                    bases.push_back(std::move(*base));
                }
            }
        }
        for (const ByteVector& base : bases) {
            for (const Change& change : changes_of(follow::traits_of(base), named, other)) {
                auto make = follow::with_trait(base, change.trait, change.value);
                auto control = follow::with_trait(right_, change.trait, change.value);
                if (!make || !tells(rule, number, named, other, follow::traits_of(*make))) {
                    continue;
                }
                // A path that cannot carry the change tells nothing.
                const bool in_both = control && !named.fits(follow::traits_of(*control)) &&
                                     !other.fits(follow::traits_of(*control));
                const bool of_numbers = change.trait == named.trait || change.trait == other.trait;
                if (!in_both && !of_numbers) {
                    continue;
                }
                std::vector<ByteVector> makes = {*make};
                if (in_both) {
                    makes.push_back(*control);
                }
                const auto tallies = TRY(ask(makes));
                const bool control_right = !in_both || tallies[1].all_right();
                if (!control_right || (!tallies[0].all_right() && !tallies[0].all_wrong())) {
                    continue;
                }
                const bool named_fits = named.fits(follow::traits_of(*make));
                const bool is_named = named_fits == tallies[0].all_wrong();
                line(fmt::format(
                    "it is '{}', not '{}': a frame {} the former and {} the latter came "
                    "{} ({} of {})",
                    (is_named ? named : other).text, (is_named ? other : named).text,
                    is_named == named_fits ? "with" : "without",
                    is_named == named_fits ? "without" : "with",
                    tallies[0].all_wrong() ? "wrong" : "right", kEach, kEach));
                return std::optional<bool>(is_named);
            }
        }
        return std::optional<bool>();
    }

    static bool tells(const follow::Rule& rule, std::size_t number, const Condition& named,
                      const Condition& other, const Traits& traits) {
        for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
            if (i != number && !rule.conditions[i].fits(traits)) {
                return false;
            }
        }
        return named.fits(traits) != other.fits(traits);
    }

    Courier& courier_;
    std::span<const Bytes> sent_;
    std::span<const Class> fates_;
    follow::Finding& finding_;
    ByteVector wrong_;
    ByteVector right_;
    std::uint32_t made_ = 0x100;
};

}  // namespace

Result<ReplayJudgement> Courier::send(std::vector<ByteVector> frames, const std::string& name) {
    const std::size_t count = frames.size();
    auto recording = std::make_shared<const load::Recording>(load::Recording::of(frames));
    const bool other_port = !options_.receive.empty() && options_.receive != options_.port;
    const auto followed = TRY(FollowedReplay::make(recording, name, count, other_port));
    load::LoadPlan plan{.stations = plan_.stations, .intake_instead = followed.get()};
    plan.make_source = replay_sources(recording, ReplayOptions{}, &followed->departures());
    load::Roles roles = roles_of(options_, lanes_.sending(), lanes_.receiving());
    std::ranges::move(roles.listeners, std::back_inserter(roles.receivers));
    roles.listeners.clear();
    const auto run = TRY(load::LoadRun::start(lanes_.ports.set.eal, roles, plan));
    const load::TrialReport report = TRY(run->run({.frames_per_second = plan_.frames_per_second,
                                                   .frames = count,
                                                   .drain = plan_.drain,
                                                   .drain_end = load::TrialOrder::DrainEnd::kFull},
                                                  stop_));
    if (report.partial) {
        return fail(ErrorCode::kUnavailable, "stopped before {} were sent", name);
    }
    return followed->judge(plan_.allowed, report, run->unix_start_ns(),
                           lanes_.sending().info().name, lanes_.receiving().info().name);
}

Status study_findings(Courier& courier, std::span<const Bytes> sent, std::span<const Class> fates,
                      std::vector<follow::Finding>& findings) {
    std::size_t studied = 0;
    for (follow::Finding& finding : findings) {
        const bool wrong = !finding.unknown && is_wrong(finding.fault) &&
                           finding.direction == follow::Direction::kForward;
        if (wrong && finding.description.separates() && studied < kFindings) {
            ++studied;
            TRY(Study(courier, sent, fates, finding).carry_out());
        }
    }
    return {};
}

}  // namespace pathproof::cli
