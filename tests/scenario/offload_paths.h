// Everyday environments of a device under test and its far end, and `offload check` in them.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Resources that an environment keeps up while it lives.
using Kept = std::vector<std::shared_ptr<void>>;

// e0 in one namespace and u0 in another: one veth pair, or two with m0 and m1 between them, which
// somebody has to forward frames of.
class Cable {
  public:
    enum class Between { kNothing, kNamespace };
    explicit Cable(Between between);
    ~Cable();
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;

    void mtu(const std::string& of_dut, const std::string& of_far) const;
    bool has_middle() const { return !middle.empty(); }

    std::string dut;
    std::string far;
    std::string middle;
};

struct PathEnvironment {
    const char* name;
    std::function<Kept(const Cable&)> set;
    // Exit status of a healthy device, and for 3 what the sentence names.
    static constexpr int kClearOrLossy = -1;  // 0, or 3 where the tester's own ring loses frames
    int status = 0;
    const char* says = "";
    std::vector<std::string> options = {};
};

const std::vector<PathEnvironment>& path_environments();
const PathEnvironment& path_environment(const std::string& name);

struct PathRun {
    int status = -1;
    nlohmann::json report;
    nlohmann::json scenario;
    std::string err;
    double seconds = 0;
};
PathRun check_over(const Cable& cable, const PathEnvironment& environment);
