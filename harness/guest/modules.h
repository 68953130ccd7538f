// The modules of one kernel, as depmod(8) lists them: which files make a module, and in what order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::guest {

class ModuleIndex {
  public:
    // modules.dep and modules.builtin of `folder` (/lib/modules/RELEASE). kNotFound: no modules.dep.
    static Result<ModuleIndex> read(const std::string& folder);
    static ModuleIndex parse(std::string_view dep, std::string_view builtin);

    // A part of the kernel itself. '-' and '_' are one, as for modprobe(8).
    bool is_built_in(const std::string& name) const;
    // The files (below the folder) to load, in this order: those that it needs first. None: it is
    // built in. kNotFound: this kernel has no such module.
    Result<std::vector<std::string>> files_of(const std::string& name) const;

  private:
    std::map<std::string, std::vector<std::string>> files_;  // the module's own last
    std::set<std::string> built_in_;
};

// "8139cp" of "kernel/drivers/net/ethernet/realtek/8139cp.ko.xz", with '_' for '-'.
std::string module_name(std::string_view path);

// The bytes of a module's file, as finit_module(2) takes them: .ko.xz, .ko.zst and .ko.gz are
// decompressed by xz, zstd and gzip.
Result<std::string> read_module(const std::string& path);

}  // namespace pathproof::guest
