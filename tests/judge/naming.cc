#include "tests/judge/naming.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/checksum.h"

namespace pathproof::judged {

using namespace pathproof::judge;
using frame::FrameSpec;
using frame::FrameTemplate;
using frame::PartialSum;
using frame::Transport;

std::string text(const std::vector<ChecksumName>& names) {
    std::string out;
    for (const ChecksumName each : names) {
        out += std::string(out.empty() ? "" : " ") + name(each);
    }
    return out;
}

// The finding at one layer, whatever its state.
ChecksumFinding at(const Octets& frame, const std::string& layer) {
    const FrameVerdict verdict = verify_slowly(frame, pathproof::frame::TunnelPorts::well_known());
    for (const ChecksumFinding& finding : verdict.all()) {
        if (word(finding.layer) == layer) {
            return finding;
        }
    }
    BOOST_FAIL(layer + " was not judged: " + judged::text(verdict));
    return {};
}

// The names of the checksum at one layer; the verifier must have called it bad.
std::string names_at(const Octets& frame, const char* layer,
                     const std::optional<OriginalTuple>& original) {
    const ChecksumFinding finding = at(frame, layer);
    BOOST_TEST((finding.state == ChecksumState::kBad), layer << ": " << finding.wire);
    return text(matching_names(frame, finding, original));
}

std::vector<Mistake> strange_mistakes() {
    return {
        [](auto right) { return static_cast<std::uint16_t>(right + 2); },
        [](auto right) { return static_cast<std::uint16_t>(right ^ 0x0100); },
        [](auto right) { return static_cast<std::uint16_t>(right + 0x1234); },
        [](auto right) { return static_cast<std::uint16_t>(right - 37); },
        [](auto right) { return static_cast<std::uint16_t>(right << 1); },
        [](auto right) { return static_cast<std::uint16_t>(right >> 4); },
        [](auto) { return std::uint16_t{0xdead}; },
        [](auto) { return std::uint16_t{0x0001}; },
        [](auto right) { return static_cast<std::uint16_t>(right * 3); },
        [](auto right) { return static_cast<std::uint16_t>(__builtin_bswap16(right) + 5); },
        [](auto right) { return static_cast<std::uint16_t>(right & 0xff00); },
    };
}

Octets spoiled(Octets frame, const char* layer, const Mistake& wrong) {
    const ChecksumFinding finding = at(frame, layer);
    put(frame, finding.field_offset, wrong(static_cast<std::uint16_t>(finding.right)));
    return frame;
}

FrameSpec tunnel_spec(raw::Random& random, Transport inner) {
    FrameSpec spec;
    spec.packet = {.source = *frame::parse_endpoint("10.42.0.5:40123"),
                   .destination = *frame::parse_endpoint("10.42.1.9:8080"),
                   .transport = inner};
    spec.tunnel = frame::TunnelSpec{
        .outer = {.source = *frame::parse_endpoint("198.51.100.1:7103"),
                  .destination = *frame::parse_endpoint("198.51.100.2:4789")},
        .vni = 4096,
    };
    spec.payload = random.octets(20 + random.below(60) * 2);
    return spec;
}

Octets rendered(const FrameSpec& spec) {
    const auto model = FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(model, model.error().message);
    return model->render();
}

// The verdict over several frames, as the tool gives it.
ChecksumName voted(const std::vector<Octets>& frames, const char* layer,
                   const std::optional<OriginalTuple>& original) {
    NameVote vote;
    for (const Octets& frame : frames) {
        const ChecksumFinding finding = at(frame, layer);
        BOOST_TEST((finding.state == ChecksumState::kBad));
        vote.add(finding, matching_names(frame, finding, original));
    }
    return vote.verdict();
}

// Adds `change` to the last word of the payload, so that the checksum at `layer` computes to
// `right`.
Octets computing(Octets frame, const char* layer, std::size_t spare, std::uint16_t right) {
    const ChecksumFinding before = at(frame, layer);
    const PartialSum word = frame::sum_word(get(frame, spare)) +
                            frame::sum_word(static_cast<std::uint16_t>(before.right)) +
                            frame::without_word(right);
    put(frame, spare, frame::folded(word));
    BOOST_REQUIRE_EQUAL(at(frame, layer).right, right);
    return frame;
}

}  // namespace pathproof::judged
