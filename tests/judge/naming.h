// Helpers for tests of checksum names: frames whose checksums are set at will, and their names as
// text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/frame/template.h"
#include "dataplane/judge/checksum_names.h"
#include "tests/judge/judged.h"

namespace pathproof::judged {

std::string text(const std::vector<judge::ChecksumName>& names);

// The finding at one layer, whatever its state; the test fails if the layer was not judged.
judge::ChecksumFinding at(const Octets& frame, const std::string& layer);

// The names of the checksum at one layer; the test fails unless the verifier called it bad.
std::string names_at(const Octets& frame, const char* layer,
                     const std::optional<judge::OriginalTuple>& original = {});

// The verdict over several frames, as the tool gives it.
judge::ChecksumName voted(const std::vector<Octets>& frames, const char* layer,
                          const std::optional<judge::OriginalTuple>& original = {});

// A mistake of a sender: gives the checksum that it writes in the place of the right one.
using Mistake = std::function<std::uint16_t(std::uint16_t)>;
// Mistakes that the namer does not know.
std::vector<Mistake> strange_mistakes();

// Makes the checksum at a layer wrong.
Octets spoiled(Octets frame, const char* layer, const Mistake& wrong);

// Changes the word at `spare`, which the checksum at `layer` covers, so that it computes to
// `right`.
Octets computing(Octets frame, const char* layer, std::size_t spare, std::uint16_t right);

// 10.42.0.5:40123 > 10.42.1.9:8080 in VXLAN from 198.51.100.1:7103 to 198.51.100.2:4789, an even
// random payload.
frame::FrameSpec tunnel_spec(raw::Random& random, frame::Transport inner = frame::Transport::kTcp);
Octets rendered(const frame::FrameSpec& spec);

}  // namespace pathproof::judged
