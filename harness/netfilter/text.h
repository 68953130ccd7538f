// Entries, events and counters as text, in the columns of conntrack(8).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

// Names of connection labels (connlabel.conf(5)), read by libnetfilter_conntrack.
class LabelNames {
  public:
    // An empty path reads the system's file.
    static Result<LabelNames> load(const std::string& path = {});
    LabelNames(LabelNames&&) noexcept;
    LabelNames& operator=(LabelNames&&) noexcept;
    ~LabelNames();
    // Empty for a label without a name.
    std::string name(unsigned bit) const;
    // Nothing for a name that no label has.
    std::optional<unsigned> bit(const std::string& name) const;

  private:
    struct Map;
    explicit LabelNames(std::unique_ptr<Map> map);
    std::unique_ptr<Map> map_;
};

// The columns that conntrack(8) shows with -o.
struct TextOptions {
    enum class Column { kHide, kShow };
    Column id = Column::kHide;            // -o id
    Column layer3 = Column::kHide;        // -o extended
    Column kernel_times = Column::kHide;  // -o ktimestamp: [start=...] [stop=...]
    Column event_time = Column::kHide;    // -o timestamp: "[1763692000.123456]\t" before events
    // Not a column of conntrack(8): [NAT_CLASH] at the end of the hidden entry of a resolved clash.
    Column nat_clash = Column::kHide;
    const LabelNames* labels = nullptr;  // -o labels
    // Not a column of conntrack(8) either: status=SEEN_REPLY,ASSURED,CONFIRMED.
    Column status_names = Column::kHide;
};

// Appends the line without its end; nothing is allocated but what `out` needs to grow. A missed
// event has [MISSED] at its end.
void append_text(std::string& out, const Entry& entry, const TextOptions& options = {});
void append_text(std::string& out, const Event& event, const TextOptions& options = {});
// "cpu=0   \tfound=0 invalid=0 ...", as `conntrack -S`.
void append_text(std::string& out, const CpuStats& stats);

}  // namespace pathproof::netfilter
