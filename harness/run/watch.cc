#include "harness/run/watch.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "dataplane/base/plural.h"
#include "harness/agent/client.h"
#include "harness/fingerprint/item.h"
#include "harness/process/netns.h"
#include "harness/report/certificate.h"

namespace pathproof::run {
namespace {

using verdict::HostWatch;
using verdict::KernelMessage;

constexpr const char* kHwmon = "/sys/class/hwmon";
constexpr const char* kHere = "this machine";
constexpr const char* kDut = "the DUT";

// Reads an item through the DUT's agent, or, in a lab without one, in the device's own namespace.
Result<verdict::Item> read_item(const lab::CabledDevice& device, agent::Client* dut,
                                fingerprint::Serials serials) {
    return dut != nullptr ? dut->item(device.name, serials)
                          : process::in_netns(device.netns, [&]() -> Result<verdict::Item> {
                                return fingerprint::read_item(device.name, serials);
                            });
}

// Makes a text a part of an id: letters and digits, all else one '-'.
std::string slug(const std::string& text) {
    std::string plain;
    for (const char letter : text) {
        const bool fits = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
        if (fits) {
            plain += letter;
        } else if (!plain.empty() && plain.back() != '-') {
            plain += '-';
        }
    }
    return plain.substr(0, plain.find_last_not_of('-') + 1);
}

std::string cell_id_of(const HostWatch& host, const KernelMessage& message) {
    return fmt::format("{}.{}.{}", slug(host.host), name(message.kind),
                       message.subject.empty() ? "kernel" : slug(message.subject));
}

}  // namespace

RunWatch::RunWatch(lab::Lab& place, fingerprint::Serials serials, scenario::Measured& measured)
    : place_(place), measured_(measured) {
    here_ = {fingerprint::read_moment(), fingerprint::read_temperatures(kHwmon)};
    const std::shared_ptr<agent::Client> dut = place.dut();
    if (!place.other_host().empty() && dut) {
        if (const auto moment = dut->moment()) {
            const auto now = dut->watch_since(*moment);
            dut_ = Begun{*moment, now ? now->temperatures : std::vector<verdict::Reading>()};
        }
    }
    for (const lab::CabledDevice& device : place.devices()) {
        if (auto item = read_item(device, dut.get(), serials)) {
            measured_.know_item(std::move(*item));
        }
    }
}

HostWatch RunWatch::finished(HostWatch watch, const std::string& host, const Begun& begun,
                             bool kernel_is_tested) const {
    watch.host = host;
    std::vector<verdict::Reading> temperatures = begun.temperatures;
    verdict::end_readings(temperatures, watch.temperatures);
    watch.temperatures = std::move(temperatures);
    fingerprint::mark_against(watch,
                              kernel_is_tested ? measured_.items() : std::vector<verdict::Item>(),
                              kernel_is_tested);
    return watch;
}

std::vector<HostWatch> RunWatch::end_here() const {
    // A DUT that is another machine, or a guest, has a kernel of its own.
    const bool is_tested = place_.other_host().empty() && place_.duts().empty();
    return {finished(fingerprint::watch_since(here_.moment), kHere, here_, is_tested)};
}

std::vector<HostWatch> RunWatch::end() {
    const std::shared_ptr<agent::Client> dut = place_.dut();
    for (const lab::CabledDevice& device : place_.devices()) {
        for (const verdict::Item& item : measured_.items()) {
            if (item.device != device.name) {
                continue;
            }
            if (const auto now = read_item(device, dut.get(), fingerprint::Serials::kLeftOut)) {
                measured_.end_item(item, now->readings);
            }
        }
    }
    std::vector<HostWatch> hosts = end_here();
    if (dut_ && dut) {
        if (auto watch = dut->watch_since(dut_->moment)) {
            hosts.push_back(finished(std::move(*watch), kDut, *dut_, true));
        }
    }
    std::ranges::move(measured_.hosts(), std::back_inserter(hosts));
    return hosts;
}

std::optional<verdict::ScenarioResult> kernel_log_scenario(const std::vector<HostWatch>& hosts) {
    verdict::ScenarioResult result{
        .id = report::kKernelLog,
        .title = "The kernels' own complaints",
        .question = "Did a kernel under test report a fault of its own during the run?",
        .area = verdict::Area::kKernelPath,
        .verdict = verdict::ScenarioVerdict::kDefectFound};
    std::map<std::string, std::size_t> counts;
    for (const HostWatch& host : hosts) {
        for (const KernelMessage& message : host.messages) {
            if (!message.against) {
                continue;
            }
            const bool of_stack = message.subject.starts_with("net/") || message.subject.empty();
            result.area = of_stack ? result.area : verdict::Area::kDevice;
            const std::string id = cell_id_of(host, message);
            if (++counts[id] > 1) {
                continue;
            }
            result.cells.push_back(
                {.id = id,
                 .verdict = verdict::CellVerdict::kFail,
                 .reason = fmt::format("the kernel of {} logged after {:.1f} s: {}", host.host,
                                       message.seconds, message.text),
                 .cause = fmt::format("kernel-{}", name(message.kind))});
        }
    }
    if (result.cells.empty()) {
        return std::nullopt;
    }
    std::size_t all = 0;
    for (verdict::Cell& cell : result.cells) {
        all += counts[cell.id];
        cell.measures.push_back(
            {.name = "messages", .label = "messages of this kind", .value = counts[cell.id]});
    }
    result.headline = fmt::format("{} of a kernel under test: {}", plural(all, "complaint"),
                                  result.cells.front().reason);
    result.cause =
        "The driver or the kernel under test reported a fault of its own, which frames need not "
        "show.";
    return result;
}

std::string kernel_log_text(const std::vector<HostWatch>& hosts) {
    std::string text;
    for (const HostWatch& host : hosts) {
        for (const KernelMessage& message : host.messages) {
            text += fmt::format("{} [{:12.6f}] {}{}\n", host.host, message.seconds,
                                message.against ? "! " : "", message.text);
            for (const std::string& line : message.trace) {
                text += "    " + line + "\n";
            }
        }
    }
    return text;
}

}  // namespace pathproof::run
