#include "harness/bench/peers/trafgen.h"

#include "dataplane/base/pattern.h"

namespace pathproof::bench {

std::vector<std::string> trafgen_command(const std::string& device, const std::string& packets) {
    return {"trafgen", "--no-sock-mem", "--notouch-irq", "--cpus", "1", "-o", device,
            "-i",      packets};
}

std::string trafgen_packets(std::span<const std::vector<std::uint8_t>> frames) {
    std::string text;
    for (const std::vector<std::uint8_t>& frame : frames) {
        text += "{ ";
        for (std::size_t i = 0; i < frame.size(); ++i) {
            text += fmt::format("{}0x{:02x}", i == 0 ? "" : ", ", frame[i]);
        }
        text += " }\n";
    }
    return text;
}

Result<TrafgenReport> parse_trafgen(const std::string& text) {
    static const Pattern packets("([0-9]+) packets outgoing");
    const auto found = packets.search(text);
    if (!found) {
        return fail(ErrorCode::kFailed, "trafgen printed no totals: '{}'", text.substr(0, 200));
    }
    return TrafgenReport{.packets = std::strtoull((*found)[1].c_str(), nullptr, 10)};
}

}  // namespace pathproof::bench
