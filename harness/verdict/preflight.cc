#include "harness/verdict/preflight.h"

#include <fmt/format.h>

#include <algorithm>

namespace pathproof::verdict {
namespace {

// In pixels of the drawing.
constexpr int kBoxWidth = 300;
constexpr int kGap = 260;  // between the two boxes: the cables
constexpr int kRow = 76;
constexpr int kTop = 40;
constexpr int kMargin = 10;

std::string as_xml(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '&': escaped += "&amp;"; break;
            case '<': escaped += "&lt;"; break;
            case '>': escaped += "&gt;"; break;
            case '"': escaped += "&quot;"; break;
            default: escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return escaped;
}

std::string text_at(int x, int y, const char* kind, const std::string& text) {
    return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, y, kind,
                       as_xml(text));
}

std::string speed_text(std::int64_t mbps) {
    if (mbps <= 0) {
        return "link speed not told";
    }
    return mbps % 1000 == 0 ? fmt::format("{} Gbit/s", mbps / 1000)
                            : fmt::format("{} Mbit/s", mbps);
}

std::string port_rows(const Preflight::Port& port, int x, int y) {
    std::string addresses;
    for (const std::string& address : port.addresses) {
        addresses += (addresses.empty() ? "" : ", ") + address;
    }
    return text_at(x, y, "name",
                   port.name == port.device || port.device.empty()
                       ? port.name
                       : port.name + " (" + port.device + ")") +
           text_at(x, y + 18, "small",
                   fmt::format("{}{}{}", speed_text(port.link_mbps),
                               port.mtu > 0 ? fmt::format(", MTU {}", port.mtu) : "",
                               port.driver.empty() ? "" : ", " + port.driver)) +
           text_at(x, y + 34, "small", addresses.empty() ? "no address" : addresses);
}

std::vector<const Preflight::Port*> ports_of(const Preflight& preflight, bool of_tester) {
    std::vector<const Preflight::Port*> all;
    for (const Preflight::Port& port : preflight.ports) {
        if ((port.host == "tester") == of_tester) {
            all.push_back(&port);
        }
    }
    return all;
}

int y_of(const std::vector<const Preflight::Port*>& ports, const std::string& name) {
    const auto found = std::ranges::find(ports, name, &Preflight::Port::name);
    return kTop + 24 + kRow * static_cast<int>(found - ports.begin());
}

const char* line_class(Preflight::Cable::Proof proof) {
    using Proved = Preflight::Cable::Proof;
    switch (proof) {
        case Proved::kBothWays: return "cable";
        case Proved::kOneWay: return "half";
        case Proved::kNotThere: return "none";
        case Proved::kNotLooked: break;
    }
    return "open";
}

std::string box(const std::vector<const Preflight::Port*>& ports, int x, int height,
                const std::string& title) {
    std::string drawn =
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" class=\"box\"/>\n",
                    x, kMargin, kBoxWidth, height - 2 * kMargin);
    drawn += text_at(x + 14, kMargin + 22, "title", title);
    for (const Preflight::Port* port : ports) {
        drawn += port_rows(*port, x + 14, y_of(ports, port->name) + 4);
    }
    return drawn;
}

}  // namespace

const char* name(Preflight::Cable::Proof proof) {
    switch (proof) {
        case Preflight::Cable::Proof::kBothWays: return "both ways";
        case Preflight::Cable::Proof::kOneWay: return "one way";
        case Preflight::Cable::Proof::kNotThere: return "not there";
        case Preflight::Cable::Proof::kNotLooked: break;
    }
    return "not looked at";
}

std::string topology_svg(const Preflight& preflight) {
    const auto tester = ports_of(preflight, true);
    const auto dut = ports_of(preflight, false);
    if (tester.empty() || dut.empty()) {
        return "";
    }
    const int rows = static_cast<int>(std::max(tester.size(), dut.size()));
    const int height = kTop + kRow * rows + 2 * kMargin;
    const int width = 2 * kMargin + 2 * kBoxWidth + kGap;
    const int right = kMargin + kBoxWidth + kGap;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" "
        "role=\"img\" aria-label=\"Topology of the lab\">\n"
        "<style>text{{font:13px sans-serif;fill:currentColor}}.title{{font-weight:bold}}"
        ".name{{font-weight:600}}.small{{font-size:11px;opacity:.8}}.mid{{text-anchor:middle;font-"
        "size:11px}}"
        ".box{{fill:none;stroke:currentColor;opacity:.6}}.cable{{stroke:#1a7f37;stroke-width:2}}"
        ".half{{stroke:#b35900;stroke-width:2;stroke-dasharray:6 3}}"
        ".none{{stroke:#c62828;stroke-width:2;stroke-dasharray:2 4}}"
        ".open{{stroke:currentColor;stroke-dasharray:4 4;opacity:.5}}</style>\n",
        width, height);
    svg += box(tester, kMargin, height, "tester");
    svg += box(dut, right, height, dut.front()->host);
    for (const Preflight::Cable& cable : preflight.cables) {
        const int from = y_of(tester, cable.port);
        const int to = y_of(dut, cable.device);
        svg += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n",
                           kMargin + kBoxWidth, from, right, to, line_class(cable.proof));
        svg += text_at(kMargin + kBoxWidth + kGap / 2, (from + to) / 2 - 5, "mid",
                       std::string("frames ") + name(cable.proof));
    }
    return svg + "</svg>\n";
}

}  // namespace pathproof::verdict
