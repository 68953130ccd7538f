// Any bytes as a datagram of ctnetlink: nothing is read beyond them, and what is read can be
// printed and survives JSON.
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/netfilter/netlink.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/text.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::netfilter;
namespace fuzz = pathproof::fuzz;

namespace {

constexpr auto kShow = TextOptions::Column::kShow;
constexpr TextOptions kAllColumns{
    .id = kShow, .layer3 = kShow, .kernel_times = kShow, .event_time = kShow, .nat_clash = kShow};

void check_event(const nlmsghdr& message) {
    Event event;
    if (parse_event(message, 1, event) == Parsed::kUnreadable) {
        return;
    }
    std::string text;
    append_text(text, event, kAllColumns);
    fuzz::require(text.find('\0') == std::string::npos, "a line with a zero byte");
    const Event back = nlohmann::json(event).get<Event>();
    fuzz::require(back.entry == event.entry && back.kind == event.kind,
                  "an event does not survive its JSON");
}

void check_stats(const nlmsghdr& message) {
    CpuStats stats;
    if (parse_cpu_stats(message, stats) == Parsed::kOk) {
        std::string text;
        append_text(text, stats);
    }
}

void check(std::span<const std::byte> datagram) {
    const MessageCounts counts = parse_datagram(datagram);
    fuzz::require(counts.unreadable <= counts.messages, "more unreadable messages than messages");
    MessageReader messages(datagram);
    while (const nlmsghdr* message = messages.next()) {
        check_event(*message);
        check_stats(*message);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> datagram(reinterpret_cast<const std::byte*>(data), size);
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(nlmsghdr) == 0) {
        check(datagram);
        return 0;
    }
    // The kernel's datagrams are aligned.
    const auto aligned = std::make_unique<std::byte[]>(size);
    std::memcpy(aligned.get(), data, size);
    check({aligned.get(), size});
    return 0;
}
