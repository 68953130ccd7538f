// Conclusions of the offload truth table, checked against the values that they were drawn from.
#include "harness/truth/conclude.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>

#include "tests/contains.h"
#include "tests/scenario/shares.h"

BOOST_AUTO_TEST_SUITE(conclude, *boost::unit_test::label("unit"))

using namespace pathproof::truth;
using pathproof::verdict::ScenarioResult;
using pathproof::verdict::ScenarioVerdict;

namespace {

constexpr int kSets = 10'000;

class Values {
  public:
    explicit Values(unsigned seed) : random_(seed) {}

    TruthValues make() {
        TruthValues values;
        values.device = "c0 (veth in a)";
        values.path.to_tester = way();
        values.path.to_device = way();
        values.path.device = end("c0", "a");
        values.path.far = end("d0", one_in(2) ? "b" : "");
        values.path.mtu =
            std::min(values.path.device.mtu,
                     values.path.far.mtu == 0 ? values.path.device.mtu : values.path.far.mtu);
        for (const char* reason : {"NETFILTER_DROP", "TC_EGRESS", "QDISC_DROP", "XDP", "OTHER"}) {
            if (one_in(3)) {
                values.path.drops.push_back({reason, "here+0x1", values.path.device, some(50)});
            }
        }
        values.path.backlog = some(9);
        values.path.late = some(9);
        values.path.paced = some(9);
        values.settings = some(30);
        values.sent = some(5000);
        values.unfinished = values.sent == 0 ? 0 : some(values.sent);
        values.received = some(2000);
        for (std::uint64_t i = some(4); i != 0; --i) {
            values.wrong.push_back(wrong());
        }
        if (one_in(3)) {
            values.unvouched = {{"as found", "plain.udp", some(90)}, {"all off", "plain.tcp", 7}};
        }
        if (one_in(5)) {
            values.hidden.emplace_back("counters: a firewall drops them");
        }
        return values;
    }

    bool one_in(unsigned n) { return random_() % n == 0; }

  private:
    // Often 0.
    std::uint64_t some(std::uint64_t most) { return one_in(3) ? 0 : random_() % (most + 1); }

    PathCount way() {
        PathCount count{.sent = some(600)};
        count.right = one_in(2) ? count.sent : some(count.sent);
        count.merged = some(count.sent - count.right);
        count.changed = some(count.sent - count.right - count.merged);
        count.own_loss = some(5);
        return count;
    }

    PathEnd end(const char* name, const char* netns) {
        static constexpr std::uint32_t kMtus[] = {1280, 1400, 1500, 9000};
        PathEnd end{.name = name, .netns = netns, .mtu = kMtus[random_() % 4]};
        if (one_in(3)) {
            end.merging = {"rx-gro"};
        }
        end.xdp = one_in(4) ? "prog 7 (drop)" : "";
        return end;
    }

    WrongValue wrong() {
        static const char* kPlaces[] = {"plain.udp", "inner.tcp", "outer.udp", "", "plain.ipv4"};
        WrongValue value{.part = static_cast<TruthPart>(random_() % 5),
                         .setting = "as found",
                         .title = "PSEUDO",
                         .place = kPlaces[random_() % 5],
                         .where = "everywhere"};
        value.frames = some(300);
        value.wrong = some(value.frames);
        value.observations = random_() % 4;
        value.meaning = "the sum of the pseudo-header alone";
        value.cure = one_in(2) ? "`ethtool -K DEV tx off`" : "";
        return value;
    }

    std::mt19937_64 random_;
};

using pathproof::test::contains;

// "3 of 24": each share of a sentence.
bool shares_are_within(const std::string& text) {
    return std::ranges::all_of(shares_in(text), [](const Share& share) {
        return share.part <= share.whole && share.whole != 0;
    });
}

bool any(const TruthValues& values, bool (*wanted)(const WrongValue&)) {
    return std::ranges::any_of(values.wrong, wanted);
}
bool is_doubtful(const WrongValue& wrong) {
    return wrong.wrong != 0 && wrong.observations < 2;
}

bool is_chance_loss(const WrongValue& wrong) {
    return is_doubtful(wrong) && wrong.title == "MISSING";
}
// Returns whether a second observation showed a wrong value again. Where frames are lost by chance
// a loss does not count.
bool has_defect(const TruthValues& values) {
    const bool by_chance = any(values, is_chance_loss);
    return std::ranges::any_of(values.wrong, [&](const WrongValue& wrong) {
        return wrong.wrong != 0 && wrong.observations >= 2 &&
               !(by_chance && wrong.title == "MISSING");
    });
}

// The words that stand for a value, and that value: where it is 0 they must not be there.
std::vector<std::pair<const char*, bool>> mechanisms(const TruthValues& values) {
    const PathFacts& path = values.path;
    const bool told = !path.proven();
    const auto dropped = [&](const char* reason) {
        return told && std::ranges::any_of(path.drops, [&](const PathDrop& drop) {
                   return drop.reason == reason && drop.packets != 0;
               });
    };
    const bool merged = told && path.to_tester.merged + path.to_device.merged != 0;
    return {{"NETFILTER_DROP", dropped("NETFILTER_DROP")},
            {"TC_EGRESS", dropped("TC_EGRESS")},
            {"QDISC_DROP", dropped("QDISC_DROP")},
            {"joins", merged},
            {"came joined", merged},
            {"never came", told && path.to_tester.missing() + path.to_device.missing() != 0},
            {"other bytes", told && path.to_tester.changed + path.to_device.changed != 0},
            {"XDP program", told && !(path.device.xdp + path.far.xdp).empty()},
            {"backlogs", told && path.backlog != 0},
            {"for want of room", told && path.to_tester.own_loss + path.to_device.own_loss != 0},
            {"The MTU of", !told && path.far.mtu != path.device.mtu},
            {"answers late", !told && path.late != 0},
            {"fewer were sent", !told && path.paced != 0},
            {"unfinished", !told && values.unfinished != 0},
            {"Seen once", !told && any(values, is_doubtful)},
            {"Not judged", !told && (!values.hidden.empty() || any(values, is_chance_loss))},
            {"wrong frames on the wire", !told && has_defect(values)},
            {"receives wrongly", !told && has_defect(values)},
            {"nothing false was said", !told && values.received != 0},
            {"vouches for none",
             !told && !values.unvouched.empty() && values.unvouched.front().frames != 0}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_ten_thousand_sets_of_values_no_conclusion_contradicts_its_values) {
    Values generator(12);
    std::map<ScenarioVerdict, int> verdicts;
    for (int set = 0; set < kSets; ++set) {
        const TruthValues values = generator.make();
        ScenarioResult result;
        conclude_truth(values, result);
        ++verdicts[result.verdict];
        const std::string text = result.headline + result.cause + result.cure;
        const bool proven = values.path.proven();
        const bool confirmed = proven && has_defect(values);
        const bool doubt = any(values, is_doubtful) || !values.hidden.empty();
        ScenarioVerdict right = ScenarioVerdict::kNoDefectFound;
        if (confirmed) {
            right = ScenarioVerdict::kDefectFound;
        } else if (!proven || doubt) {
            right = ScenarioVerdict::kInconclusive;
        }
        BOOST_REQUIRE_MESSAGE(result.verdict == right, result.headline);
        BOOST_REQUIRE_MESSAGE(!result.headline.empty(), set);
        BOOST_REQUIRE_MESSAGE(shares_are_within(text), text);
        BOOST_REQUIRE_MESSAGE(result.cure_shown == !result.cure.empty(), text);
        BOOST_REQUIRE_MESSAGE(confirmed || result.cause.empty(), text);
        if (!proven) {
            BOOST_REQUIRE_MESSAGE(contains(text, "Nothing is said of"), text);
            BOOST_REQUIRE_MESSAGE(!contains(text, "efect"), text);
        }
        for (const auto& [words, there] : mechanisms(values)) {
            BOOST_REQUIRE_MESSAGE(there || !contains(text, words), words << " in: " << text);
        }
    }
    for (const ScenarioVerdict verdict :
         {ScenarioVerdict::kDefectFound, ScenarioVerdict::kInconclusive,
          ScenarioVerdict::kNoDefectFound}) {
        BOOST_TEST(verdicts[verdict] > 200);
    }
}

BOOST_AUTO_TEST_CASE(frames_that_are_lost_by_chance_are_no_defect_of_the_device) {
    TruthValues values = Values(12).make();
    values.path.to_tester = values.path.to_device = {.sent = 100, .right = 100};
    values.hidden.clear();
    values.wrong = {
        {.setting = "as found", .title = "MISSING", .wrong = 18, .frames = 687, .observations = 2}};
    ScenarioResult result;
    conclude_truth(values, result);
    BOOST_TEST((result.verdict == ScenarioVerdict::kDefectFound), result.headline);
    values.wrong.push_back(values.wrong.front());
    values.wrong.back().wrong = 314;
    values.wrong.back().observations = 1;
    ScenarioResult doubtful;
    conclude_truth(values, doubtful);
    BOOST_TEST((doubtful.verdict == ScenarioVerdict::kInconclusive), doubtful.headline);
    BOOST_TEST(contains(doubtful.headline, "lost by chance"), doubtful.headline);
}

BOOST_AUTO_TEST_CASE(a_device_that_vouches_for_nothing_is_not_accused) {
    TruthValues values{.device = "eth0 (vmxnet3)", .settings = 3, .sent = 900, .received = 600};
    values.path.to_tester = values.path.to_device = {.sent = 100, .right = 100};
    values.unvouched = {{"as found", "plain.udp", 144},
                        {"as found", "plain.tcp", 96},
                        {"all on", "plain.udp", 144}};
    ScenarioResult result;
    conclude_truth(values, result);
    BOOST_TEST((result.verdict == ScenarioVerdict::kNoDefectFound), result.headline);
    BOOST_TEST(result.cause.empty());
    BOOST_TEST(contains(result.headline, "nothing false was said of any"), result.headline);
    BOOST_TEST(
        contains(result.headline,
                 "A limitation, no defect: with its offloads as found it vouches for none of 240 "
                 "received checksums (plain.udp, plain.tcp)"),
        result.headline);
}

BOOST_AUTO_TEST_CASE(who_joins_frames_or_drops_them_is_named_with_the_command_that_ends_it) {
    PathFacts path;
    path.to_tester = {.sent = 40, .right = 10, .merged = 20};
    path.to_device = {.sent = 40, .right = 40};
    path.device = {.name = "c0", .netns = "a", .mtu = 1500};
    path.far = {.name = "d0", .netns = "b", .mtu = 1500, .merging = {"rx-gro"}};
    path.drops = {{"TC_EGRESS", "sch_handle_egress+0x1", path.device, 10}};
    std::string text;
    for (const std::string& sentence : path_sentences(path)) {
        text += sentence + "\n";
    }
    BOOST_TEST(contains(text, "20 of 40 plain frames from c0 to d0 came joined into longer ones"),
               text);
    BOOST_TEST(contains(text, "10 of 40 plain frames from c0 to d0 never came"), text);
    BOOST_TEST(contains(text, "`ip netns exec b ethtool -K d0 rx-gro off`"), text);
    BOOST_TEST(contains(text, "`ip netns exec a tc filter show dev c0 egress`"), text);
    path.to_tester = {.sent = 40};
    BOOST_TEST(contains(path_sentences(path).front(), "--tester"), path_sentences(path).front());
}

BOOST_AUTO_TEST_CASE(a_layer_has_the_clause_that_defines_its_checksum) {
    BOOST_TEST(clause_of("plain.udp") == "RFC 768, RFC 8200 section 8.1");
    BOOST_TEST(clause_of("inner.tcp.checksum") == "RFC 9293 section 3.1");
    BOOST_TEST(clause_of("outer.udp") == "RFC 768, RFC 7348 section 5");
    BOOST_TEST(clause_of("outer.ipv4") == "RFC 791 section 3.1");
    BOOST_TEST(clause_of("outer.gre") == "RFC 2784 section 2.3");
    BOOST_TEST(clause_of("plain.icmpv6") == "RFC 4443 section 2.3");
    BOOST_TEST(clause_of("frame").empty());
}

BOOST_AUTO_TEST_CASE(another_device_tells_the_device_from_the_path) {
    TruthValues values;
    values.device = "c0 (veth in a)";
    values.path.device = {.name = "c0", .netns = "a", .mtu = 1500};
    values.path.far = {.name = "d0", .netns = "b", .mtu = 1500, .merging = {"rx-gro"}};
    values.path.to_tester = {.sent = 40, .right = 30, .changed = 10};
    values.path.to_device = {.sent = 40, .right = 40};
    values.path.faults = {{.what = "the last 4 bytes are missing",
                           .where = "VLAN one",
                           .frames = 10,
                           .sent = 40,
                           .looks = 3}};
    const auto concluded = [&] {
        ScenarioResult result;
        conclude_truth(values, result);
        return result;
    };
    // The far end joins frames: it may be that.
    BOOST_TEST((concluded().verdict == ScenarioVerdict::kInconclusive));
    values.path.proof = {.name = "q0", .sent = 120, .right = 120};
    ScenarioResult result = concluded();
    BOOST_TEST((result.verdict == ScenarioVerdict::kDefectFound));
    BOOST_TEST(contains(result.headline, "come right, 120 of 120 plain frames by q0"),
               result.headline);
    // A program at the device alone may do it all the same.
    values.path.between = {"an XDP program at c0"};
    BOOST_TEST((concluded().verdict == ScenarioVerdict::kInconclusive));
    values.path.between.clear();
    values.path.proof = {.name = "q0", .sent = 120, .right = 90, .faults = values.path.faults};
    result = concluded();
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(contains(result.headline, "come wrong too"), result.headline);
    values.path.proof = {.name = "q0", .sent = 120, .right = 0};
    result = concluded();
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(contains(result.headline, "tells nothing"), result.headline);
}

BOOST_AUTO_TEST_SUITE_END()
