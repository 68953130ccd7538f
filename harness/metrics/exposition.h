// Writing metrics as text: OpenMetrics 1.0, or the older Prometheus format that the node exporter
// reads from files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pathproof::metrics {

enum class Dialect {
    kOpenMetrics,  // https://github.com/OpenObservability/OpenMetrics, specification 1.0
    kPrometheus,   // "text/plain; version=0.0.4": has neither units nor statesets nor an end mark
};
// Name of the dialect in HTTP.
const char* content_type(Dialect dialect);

enum class Type {
    kCounter,   // its sample is NAME_total
    kGauge,     // NAME
    kInfo,      // NAME_info, always 1: the labels are what it says
    kStateSet,  // NAME, one sample for each state, 1 for the one that holds
};
const char* name(Type type);  // as OpenMetrics has it: "counter"

// Metrics of one name.
struct Family {
    std::string name;  // without the suffix of its type
    Type type = Type::kGauge;
    std::string unit;  // "seconds", then also the end of the name; empty: plain numbers
    std::string help;
    std::string labels = {};  // beside netns, for people: "service, protocol, backend"
};
// The name that the samples have.
std::string sample_name(const Family& family);

struct Label {
    std::string name;
    std::string value;  // any bytes; what is not UTF-8 is replaced
};
using Labels = std::vector<Label>;

class Exposition {
  public:
    explicit Exposition(Dialect dialect) : dialect_(dialect) {}

    // Begins the family to which sample() adds from now on. All samples of a family follow one
    // begin(): its head is written before the first of them, and a family without samples leaves no
    // trace.
    void begin(Family family);
    void sample(const Labels& labels, std::uint64_t value);
    void sample(const Labels& labels, double value);
    // One sample for each state of a stateset.
    void states(const Labels& labels, const std::vector<std::string_view>& all,
                std::string_view holds);

    // The whole text, with the dialect's end.
    std::string finish();

  private:
    void head();
    void write(const Labels& labels, std::string_view value);

    const Dialect dialect_;
    Family family_;
    bool head_due_ = false;
    std::string text_;
};

}  // namespace pathproof::metrics
