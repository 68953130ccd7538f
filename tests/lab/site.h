// A DUT that is somebody else's, and the tester beside it: two namespaces with three cables, and one
// address, one rule and one sysctl that are not as a run needs them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/lab/temp_folder.h"

namespace pathproof::lab {

// The lab file of it.
extern const char* const kSiteFile;

class Site {
  public:
    // `more`: shell commands that are a part of how it was found.
    explicit Site(const std::string& more = "");
    Site(const Site&) = delete;
    Site& operator=(const Site&) = delete;
    ~Site();

    std::string file() const { return folder_.path() + "/site.toml"; }
    std::string folder() const { return folder_.path(); }

    // Returns the differences from the state that was found; waits at most this long for none to be
    // left.
    std::string changed(int patience_ms = 1000) const;

    struct Run {
        int status = 0;
        std::string said;
    };
    // `netns`: in which; empty: ours.
    Run run(const std::string& words, const std::string& netns = "") const;
    nlohmann::json report(const std::string& name) const;

  private:
    TempFolder folder_;
    std::string before_;
};

nlohmann::json scenario_of(const nlohmann::json& report, const std::string& id);

}  // namespace pathproof::lab
