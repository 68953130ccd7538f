// Entries, events and counters as text, in the columns of conntrack(8).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "harness/netfilter/entry.h"

struct nfct_labelmap;

namespace pathproof::netfilter {

// Names of connection labels (connlabel.conf(5)), read by libnetfilter_conntrack.
class LabelNames {
  public:
    // An empty path reads the system's file.
    static Result<LabelNames> load(const std::string& path = {});
    // Empty for a label without a name.
    std::string name(unsigned bit) const;
    // Returns the bit of a label; nothing for a name that no label has.
    std::optional<unsigned> bit(const std::string& name) const;

  private:
    struct Free {
        void operator()(nfct_labelmap* map) const;
    };
    explicit LabelNames(nfct_labelmap* map) : map_(map) {}
    std::unique_ptr<nfct_labelmap, Free> map_;
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
    std::shared_ptr<const LabelNames> labels;  // -o labels
    // Not a column of conntrack(8) either: status=SEEN_REPLY,ASSURED,CONFIRMED.
    Column status_names = Column::kHide;
};

// "1763692000.123456", of CLOCK_REALTIME in nanoseconds.
std::string seconds_text(std::int64_t time_ns);

// Appends the line without its end; nothing is allocated but what `out` needs to grow. A missed
// event has [MISSED] at its end.
void append_text(std::string& out, const Entry& entry, const TextOptions& options = {});
void append_text(std::string& out, const Event& event, const TextOptions& options = {});
// "cpu=0   \tfound=0 invalid=0 ...", as `conntrack -S`.
void append_text(std::string& out, const CpuStats& stats);

}  // namespace pathproof::netfilter
