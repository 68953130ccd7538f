// Any bytes as a datagram of ctnetlink: nothing is read beyond them, what is read can be printed,
// and as events and as the table they leave a state that is whole.
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/netfilter/csv.h"
#include "harness/netfilter/netlink.h"
#include "harness/netfilter/parse.h"
#include "harness/netfilter/reconcile.h"
#include "harness/netfilter/socket.h"
#include "harness/netfilter/text.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::netfilter;
namespace fuzz = pathproof::fuzz;

namespace {

constexpr auto kShow = TextOptions::Column::kShow;
const TextOptions kAllColumns{.id = kShow,
                              .layer3 = kShow,
                              .kernel_times = kShow,
                              .event_time = kShow,
                              .nat_clash = kShow,
                              .status_names = kShow};

void check_csv(const Event& event) {
    static const CsvFormat all = CsvFormat::make(CsvFormat::Rows::kEvents).value();
    std::string row;
    all.append_row(row, event);
    fuzz::require(!row.empty(), "an empty row");
}

void check_event(const nlmsghdr& message) {
    Event event;
    if (parse_event(message, 1, event) == Parsed::kUnreadable) {
        return;
    }
    std::string text;
    append_text(text, event, kAllColumns);
    fuzz::require(text.find('\0') == std::string::npos, "a line with a zero byte");
    const nlohmann::json printed = event;
    fuzz::require(printed["entry"]["id"] == event.entry.id, "JSON without its entry");
    check_csv(event);
}

// Messages in the parts that a stream and a table have for a reconciler; the sequence number, which
// means nothing in them, says which.
class Reconciliation {
  public:
    void message(const nlmsghdr& message) {
        if (parse_event(message, 1, event_) == Parsed::kUnreadable) {
            return;
        }
        switch (message.nlmsg_seq % 8) {
            case 0: reconciler_.initial(event_.entry); return;
            case 1:
                reconciler_.begin();
                reconciler_.gap();
                reconciler_.begin_table();
                reconciler_.in_table(event_.entry);
                return;
            case 2: reconciler_.in_table(event_.entry); return;
            case 3: reconciler_.end_table(Reconciler::Table::kWhole); return;
            case 4: settle(); return;
            default: reconciler_.event(event_, missed_);
        }
    }

    void settle() {
        reconciler_.settle(missed_);
        std::size_t flows = 0;
        reconciler_.flows().each([&](Flow& flow) {
            ++flows;
            fuzz::require(flow.pending == Pending::kNothing, "a flow that was not settled");
            fuzz::require(reconciler_.flows().find(reconciler_.flows().entry(flow)) != nullptr,
                          "a flow that is not found by its own entry");
        });
        fuzz::require(flows == reconciler_.flows().size(), "flows counted wrongly");
    }

  private:
    Reconciler reconciler_;
    Event event_;
    const Reconciler::MissedSink missed_ = [](const Reconciler::Missed& missed) {
        std::string text;
        append_text(text, missed.entry, kAllColumns);
    };
};

void check_stats(const nlmsghdr& message) {
    CpuStats stats;
    if (parse_cpu_stats(message, stats) == Parsed::kOk) {
        std::string text;
        append_text(text, stats);
    }
}

void check(std::span<const std::byte> datagram) {
    MessageReader messages(datagram);
    Reconciliation reconciliation;
    while (const nlmsghdr* message = messages.next()) {
        check_event(*message);
        check_stats(*message);
        (void)read_end(*message);
        reconciliation.message(*message);
    }
    reconciliation.settle();
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
