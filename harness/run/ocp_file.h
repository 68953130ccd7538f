// --ocp FILE: a run's artifacts as JSON lines (report/ocp.h), each on the disk as soon as it is known.
#pragma once

#include <memory>
#include <string>

#include "dataplane/base/file.h"
#include "harness/report/ocp.h"
#include "harness/run/session.h"

namespace pathproof::run {

class OcpFile : public RunObserver {
  public:
    // "-": standard output. A file is a regular one or is made; what was in it stays until the run begins.
    // kBadInput: it is something else; kNotPermitted, kNotFound: its folder does not let it be made.
    static Result<std::shared_ptr<OcpFile>> open(const std::string& path);

    void begin(const verdict::RunResult& head) override;
    void begin_scenario(const std::string& id) override { stream_.begin_scenario(id); }
    void end_scenario(const verdict::ScenarioResult& scenario) override {
        stream_.end_scenario(scenario);
    }
    void interrupt(const std::string& sentence) override { stream_.interrupt(sentence); }

    // The end of a run that ends with `exit_code`. The error is the first one of writing.
    Status end(const verdict::RunResult& run, int exit_code);

  private:
    OcpFile(std::string path, Fd file);
    Status write(std::string_view line) const;

    std::string path_;
    Fd file_;  // none: standard output
    report::OcpStream stream_;
};

}  // namespace pathproof::run
