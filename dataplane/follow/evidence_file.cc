#include "dataplane/follow/evidence_file.h"

#include <algorithm>

#include "dataplane/base/new_file.h"

namespace pathproof::follow {
namespace {

void put16(std::string& out, std::uint32_t value) {
    out += static_cast<char>(value & 0xff);
    out += static_cast<char>(value >> 8 & 0xff);
}
void put32(std::string& out, std::uint32_t value) {
    put16(out, value & 0xffff);
    put16(out, value >> 16);
}
void pad(std::string& out) {
    out.resize((out.size() + 3) / 4 * 4);
}
void option(std::string& out, std::uint16_t code, const std::string& value) {
    constexpr std::size_t kMost = 60'000;
    const std::string part = value.substr(0, kMost);
    put16(out, code);
    put16(out, static_cast<std::uint32_t>(part.size()));
    out += part;
    pad(out);
}

// draft-ietf-opsawg-pcapng section 3.1.
std::string block(std::uint32_t type, const std::string& body) {
    std::string out;
    const auto length = static_cast<std::uint32_t>(body.size() + 12);
    put32(out, type);
    put32(out, length);
    out += body;
    put32(out, length);
    return out;
}

std::string section(const std::string& about) {
    std::string body;
    put32(body, 0x1a2b3c4d);
    put16(body, 1);
    put16(body, 0);
    put32(body, 0xffffffff);
    put32(body, 0xffffffff);
    option(body, 1, about);
    put32(body, 0);
    return block(0x0a0d0d0a, body);
}

std::string interface(const std::string& name) {
    std::string body;
    put16(body, 1);
    put16(body, 0);
    put32(body, 0);
    option(body, 2, name);
    option(body, 9, std::string(1, '\x09'));  // nanoseconds
    put32(body, 0);
    return block(1, body);
}

std::string packet(std::uint32_t interface, std::int64_t time_ns, const frame::ByteVector& bytes,
                   const std::string& comment) {
    std::string body;
    const auto time = static_cast<std::uint64_t>(time_ns);
    const auto size = static_cast<std::uint32_t>(bytes.size());
    put32(body, interface);
    put32(body, static_cast<std::uint32_t>(time >> 32));
    put32(body, static_cast<std::uint32_t>(time));
    put32(body, size);
    put32(body, size);
    body.append(bytes.begin(), bytes.end());
    pad(body);
    option(body, 1, comment);
    put32(body, 0);
    return block(6, body);
}

}  // namespace

Status write_evidence(const std::string& path, const Finding& finding, const std::string& about) {
    std::string file = section(about) + interface("in") + interface("out");
    for (const Specimen& specimen : finding.specimens) {
        if (specimen.in.number != 0) {
            file +=
                packet(0, specimen.in_ns, specimen.in_bytes,
                       fmt::format("went in as frame {}: {}", specimen.in.number, specimen.text));
        }
        if (specimen.out.number != 0) {
            file +=
                packet(1, specimen.out_ns, specimen.out_bytes,
                       fmt::format("came out as frame {}: {}", specimen.out.number, specimen.text));
        }
    }
    return replace_file(path, file);
}

}  // namespace pathproof::follow
