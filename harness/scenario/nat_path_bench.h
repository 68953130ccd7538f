// Measuring cells on the lab of a client, a DUT and a server.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/nat_path_hosts.h"

namespace pathproof::scenario {

// A text noted while a cell is measured: it becomes the evidence file CELL with that suffix.
struct NotedText {
    const char* suffix;
    const char* description;
    const char* if_empty = "";  // in its place; without that nothing is kept
    std::string text = {};
};

// A bench for run_cells(), which has an open() of its own if there is more to be made than the hosts.
template <typename What, typename Seen>
class NatPathBench {
  public:
    explicit NatPathBench(Context& context, std::vector<NotedText> notes = {})
        : context_(context), notes_(std::move(notes)) {}
    NatPathBench(const NatPathBench&) = delete;
    NatPathBench& operator=(const NatPathBench&) = delete;
    virtual ~NatPathBench() = default;

    Status open(lab::ClientAt client = lab::ClientAt::kAnywhere) {
        hosts_ = TRY(NatPathHosts::open(context_, client));
        return {};
    }

    // Measures a cell. A failure that keeps it from being measured, such as an agent that died, is
    // an objection in it.
    Measurement<What, Seen> measure(const What& what) {
        Measurement<What, Seen> cell{.what = what, .seen = {}, .evidence = {}};
        for (NotedText& each : notes_) {
            each.text.clear();
        }
        if (const Status made = run(what, cell); !made) {
            object(made.error(), cell.seen);
        }
        for (const NotedText& each : notes_) {
            keep_evidence(context_.options.out_dir, what.id + each.suffix, each.description,
                          each.text.empty() ? each.if_empty : each.text, cell.evidence);
        }
        return cell;
    }

  protected:
    virtual Status run(const What& what, Measurement<What, Seen>& cell) = 0;
    virtual void object(const Error& error, Seen& seen) {
        seen.objections.push_back(error.message);
    }
    std::string& noted(std::size_t number = 0) { return notes_[number].text; }

    Context& context_;
    NatPathHosts hosts_;

  private:
    std::vector<NotedText> notes_;
};

}  // namespace pathproof::scenario
