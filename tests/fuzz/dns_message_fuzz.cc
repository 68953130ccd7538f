// Any bytes as a DNS message: reading ends, nothing is read beyond them, and what is written can be
// read.
#include <array>

#include "dataplane/frame/dns.h"
#include "tests/fuzz/fuzz.h"

using namespace pathproof::frame;
namespace fuzz = pathproof::fuzz;

namespace {

void check_name(const DnsName& name) {
    fuzz::require(name.wire().size() <= DnsName::kMostBytes, "a name over 255 bytes");
    const auto again = DnsName::from_text(name.to_text());
    fuzz::require(again.has_value() && *again == name, "a name does not survive its text");
    fuzz::require(name.is_under(name) && name.is_under(DnsName()), "a name is not under itself");
    sequence_of(name);
}

void read_all(std::span<const std::uint8_t> message) {
    DnsReader reader(message);
    while (const auto question = reader.next_question()) {
        check_name(question->name);
    }
    while (const auto record = reader.next_record()) {
        check_name(record->name);
        record->address();
        fuzz::require(record->data_offset + record->data.size() <= message.size(),
                      "record data beyond the message");
        if (record->type == kDnsTypeCname) {
            if (const auto target = reader.name_at(record->data_offset)) {
                check_name(*target);
            }
        }
    }
    fuzz::require(reader.defect() != DnsDefect::kNone || reader.offset() <= message.size(),
                  "read beyond the message");
}

void answer(std::span<const std::uint8_t> query, std::size_t room) {
    const IpAddress addresses[] = {IpAddress::v4(0xcb007101), *parse_ip("2001:db8::1"),
                                   IpAddress::v4(0xcb007102)};
    const DnsName cname = *DnsName::from_text("real.example.test");
    std::array<std::uint8_t, 600> buffer;
    for (const DnsName* alias : {static_cast<const DnsName*>(nullptr), &cname}) {
        const std::span<std::uint8_t> out(buffer.data(), room);
        const std::size_t length =
            write_answer(out, query, {.cname = alias, .addresses = addresses});
        fuzz::require(length <= room, "an answer longer than its buffer");
        if (length == 0) {
            continue;
        }
        DnsReader reader(out.first(length));
        std::size_t records = 0;
        while (reader.next_record()) {
            ++records;
        }
        fuzz::require(reader.defect() == DnsDefect::kNone && reader.offset() == length,
                      "an answer that cannot be read");
        fuzz::require(records == reader.header().answers, "an answer that counts wrongly");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::uint8_t> message(data, size);
    read_all(message);
    answer(message, 512);
    answer(message, size % 600);
    return 0;
}
