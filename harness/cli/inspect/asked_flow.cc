#include "harness/cli/inspect/asked_flow.h"

#include <fmt/ranges.h>

#include "harness/netfilter/lookup.h"

namespace pathproof::cli::inspect {

Result<AskedFlow> parse_asked_flow(const std::vector<std::string>& words) {
    std::vector<std::string> parts = netfilter::flow_words(words);
    AskedFlow asked;
    if (parts.size() >= 3) {
        std::string& source = parts[1];
        const bool is_v6 = parts[2].find('[') == 0 || parts[2].find("::") != std::string::npos;
        const bool is_icmp = parts[0].starts_with("icmp");
        const char* const any_v6 = is_icmp ? "::" : "[::]";
        const std::string any = is_v6 ? any_v6 : "0.0.0.0";
        if (source == "*") {
            asked.any_source = asked.any_port = true;
            source = is_icmp ? any : any + ":0";
        } else if (source.starts_with("*:")) {
            asked.any_source = true;
            source = any + source.substr(1);
        } else if (source.ends_with(":*")) {
            asked.any_port = true;
            source.replace(source.size() - 1, 1, "0");
        }
        if (is_icmp && parts.size() == 4 && (parts[3] == "id=*" || parts[3] == "*")) {
            return fail(ErrorCode::kBadInput, "'{}': of icmp the id has to be given: write id=7",
                        fmt::join(words, " "));
        }
    }
    asked.tuple = TRY(netfilter::parse_flow(parts));
    return asked;
}

}  // namespace pathproof::cli::inspect
