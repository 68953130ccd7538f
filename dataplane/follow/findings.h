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
        bool was_right = false;   // it was given to add_right() before
    };
    void add(const Entry& entry);
    // A frame that arrived as it should.
    void add_right(Direction direction, const Packet& packet);
    // Findings with the largest first.
    std::vector<Finding> finish();

    // Frames that are wrong in any way, by what separates them from right ones. Before finish().
    Description describe_all(Direction direction) const;

  private:
    struct Kept {
        Finding finding;
        std::uint32_t owner = 0;  // in the table
        bool describable = true;
        std::vector<std::uint32_t> kinds;
        std::uint64_t first_place = 0;  // among frames of its kind, as long as they are of one
        std::uint64_t last_place = 0;
        std::vector<std::uint64_t> kind_places;
        std::int64_t first_ns = 0;
        std::int64_t last_ns = 0;
    };
    std::uint64_t place_in_kind(Direction direction, const Packet& packet);
    std::string rhythm_of(const Kept& kept) const;
    void locate(Kept& kept, bool describe_it) const;
    Description description_of(Direction direction, const std::string& key,
                               const std::vector<Alike>& wrong) const;

    std::map<std::string, Kept> findings_;
    // Frames so far, by direction and kind.
    std::array<std::unordered_map<std::uint32_t, std::uint64_t>, 2> of_kind_;
    TraitTable table_;  // right frames are of owner 0 (forward) and 1
};

// Every how-manieth of the places is one: 0 where there is no such number.
std::uint64_t period_of(const std::vector<std::uint64_t>& places);

}  // namespace pathproof::follow
