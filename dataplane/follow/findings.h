// Collects findings by what is wrong, and locates them: what their frames have in common that right
// ones have not.
#pragma once

#include <map>
#include <unordered_map>

#include "dataplane/follow/outcome.h"
#include "dataplane/follow/packet.h"

namespace pathproof::follow {

class Findings {
  public:
    struct Entry {
        Direction direction = Direction::kForward;
        Class fault = Class::kMissing;
        bool unknown = false;
        std::string key;
        std::string text;
        const Packet* in = nullptr;
        const Packet* out = nullptr;
        std::uint64_t place = 0;  // in the order of what was sent; 0: not known
        bool shown = true;        // as a specimen
    };
    void add(const Entry& entry);
    // A frame that arrived as it should.
    void add_right(Direction direction, const Packet& packet);
    // Findings with the largest first.
    std::vector<Finding> finish();

  private:
    struct Kind {
        std::string text;  // "IPv4 UDP"
        std::uint64_t frames = 0;
    };
    struct Right {
        std::vector<std::uint32_t> lengths = std::vector<std::uint32_t>(65'536);
        std::unordered_map<std::uint32_t, Kind> kinds;
    };
    std::string kinds_located(const Finding& finding) const;
    void locate(Finding& finding) const;

    std::map<std::string, Finding> findings_;
    std::array<Right, 2> right_;
};

// Every how-manieth of the places is one: 0 where there is no such number.
std::uint64_t period_of(const std::vector<std::uint64_t>& places);

}  // namespace pathproof::follow
