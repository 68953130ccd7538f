#include "harness/bench/line_rate.h"

#include <array>
#include <cmath>

namespace pathproof::bench {
namespace {

constexpr std::array kLinks{10.0, 25.0, 40.0, 100.0};
constexpr double kBetweenFrames = 7 + 1 + 12;

}  // namespace

double line_rate_pps(double gigabits, std::uint32_t frame_bytes) {
    return gigabits * 1e9 / (8 * (frame_bytes + kBetweenFrames));
}

std::uint32_t cores_for(double gigabits, std::uint32_t frame_bytes, double pps_per_core) {
    if (!(pps_per_core > 0)) {
        return 0;
    }
    return static_cast<std::uint32_t>(
        std::ceil(line_rate_pps(gigabits, frame_bytes) / pps_per_core));
}

Table line_rate_table(const std::map<std::uint32_t, double>& pps_by_size) {
    Table table{.id = "line_rate",
                .title =
                    "lcores that send at line rate, computed from the figures above (not "
                    "measured: a NIC's driver, PCIe and memory cost more than net_null)",
                .heads = {"frame with FCS", "Mpps of one lcore"},
                .rows = {}};
    for (const double link : kLinks) {
        table.heads.push_back(fmt::format("{:.0f} GbE (Mpps)", link));
    }
    for (const auto& [size, pps] : pps_by_size) {
        std::vector<std::string> row{fmt::format("{}", size), fmt::format("{:.1f}", pps * 1e-6)};
        for (const double link : kLinks) {
            row.push_back(fmt::format("{} ({:.2f})", cores_for(link, size, pps),
                                      line_rate_pps(link, size) * 1e-6));
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace pathproof::bench
