#include "dataplane/frame/dns.h"

#include <algorithm>
#include <cstring>

#include "dataplane/frame/dns_wire.h"
#include "dataplane/frame/view.h"

namespace pathproof::frame {
namespace {

constexpr std::uint16_t kAuthoritative = 0x0400;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionAvailable = 0x0080;
constexpr std::uint8_t kPointer = 0xc0;

struct RecordTail {
    Be16 type;
    Be16 record_class;
    Be32 ttl;
    Be16 length;
};
static_assert(sizeof(RecordTail) == 10);

std::uint8_t lower(std::uint8_t byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<std::uint8_t>(byte + 32) : byte;
}

// Length bytes are below 64 and so unchanged by lower().
bool same_bytes(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
    return std::ranges::equal(a, b, {}, lower, lower);
}

// Appends to a buffer and remembers whether everything fitted.
class Writer {
  public:
    explicit Writer(std::span<std::uint8_t> out) : out_(out) {}

    template <typename T>
    requires std::is_trivially_copyable_v<T>
    void put(const T& value) {
        put_bytes({reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
    }
    void put_bytes(Bytes bytes) {
        fits_ = fits_ && bytes.size() <= out_.size() - used_;
        if (fits_ && !bytes.empty()) {
            std::memcpy(out_.data() + used_, bytes.data(), bytes.size());
            used_ += bytes.size();
        }
    }
    void put_pointer(std::size_t target) { put(Be16(static_cast<std::uint16_t>(0xc000 | target))); }
    std::size_t used() const { return used_; }
    bool fits() const { return fits_; }
    // Forgets what was written behind `used`.
    void back_to(std::size_t used) {
        used_ = used;
        fits_ = true;
    }

  private:
    std::span<std::uint8_t> out_;
    std::size_t used_ = 0;
    bool fits_ = true;
};

// Writes the records of one answer and counts them.
class RecordWriter {
  public:
    RecordWriter(Writer& writer, const DnsAnswer& answer) : writer_(writer), answer_(answer) {}

    void write_cname() {
        const Bytes target = answer_.cname->wire();
        put_head(kDnsTypeCname, target.size());
        const std::size_t at = writer_.used();
        writer_.put_bytes(target);
        count();
        owner_ = at;
    }
    void write_address(const IpAddress& address, std::uint16_t type) {
        put_head(type, address.size());
        writer_.put_bytes({address.bytes.data(), address.size()});
        count();
    }
    std::uint16_t written() const { return written_; }
    bool complete() const { return complete_; }

  private:
    void put_head(std::uint16_t type, std::size_t length) {
        start_ = writer_.used();
        writer_.put_pointer(owner_);
        writer_.put(RecordTail{Be16(type), Be16(kDnsClassIn), Be32(answer_.ttl),
                               Be16(static_cast<std::uint16_t>(length))});
    }
    void count() {
        if (writer_.fits()) {
            ++written_;
            return;
        }
        complete_ = false;
        writer_.back_to(start_);
    }

    Writer& writer_;
    const DnsAnswer& answer_;
    std::size_t owner_ = kDnsHeaderBytes;  // the question's name lies right behind the header
    std::size_t start_ = 0;
    std::uint16_t written_ = 0;
    bool complete_ = true;
};

void write_records(RecordWriter& records, const DnsAnswer& answer, std::uint16_t type) {
    if (answer.cname != nullptr) {
        records.write_cname();
    }
    for (const IpAddress& address : answer.addresses) {
        if (!records.complete()) {
            return;
        }
        if (address_type(address.family) == type) {
            records.write_address(address, type);
        }
    }
}

}  // namespace

bool DnsName::append_label(std::span<const std::uint8_t> label) noexcept {
    if (label.empty() || label.size() > kMostLabel || size_ + label.size() + 1 > kMostBytes) {
        return false;
    }
    bytes_[size_ - 1u] = static_cast<std::uint8_t>(label.size());
    std::memcpy(bytes_.data() + size_, label.data(), label.size());
    size_ = static_cast<std::uint8_t>(size_ + label.size() + 1);
    bytes_[size_ - 1u] = 0;
    return true;
}

bool DnsName::is_under(const DnsName& suffix) const noexcept {
    Bytes rest = wire();
    while (rest.size() > suffix.size_) {
        rest = rest.subspan(rest[0] + 1u);
    }
    return same_bytes(rest, suffix.wire());
}

bool operator==(const DnsName& a, const DnsName& b) noexcept {
    return same_bytes(a.wire(), b.wire());
}

std::optional<IpAddress> DnsRecord::address() const noexcept {
    const bool ipv4 = type == kDnsTypeA && data.size() == 4;
    const bool ipv6 = type == kDnsTypeAaaa && data.size() == 16;
    if (record_class != kDnsClassIn || (!ipv4 && !ipv6)) {
        return std::nullopt;
    }
    IpAddress address{.family = ipv4 ? Family::kIpv4 : Family::kIpv6, .bytes = {}};
    std::memcpy(address.bytes.data(), data.data(), data.size());
    return address;
}

DnsReader::DnsReader(std::span<const std::uint8_t> message) noexcept : message_(message) {
    const auto wire = view<DnsWireHeader>(message, 0);
    if (!wire) {
        stop(DnsDefect::kShort);
        return;
    }
    const std::uint16_t flags = wire->flags.value();
    header_ = {
        .id = wire->id.value(),
        .response = (flags & kDnsResponse) != 0,
        .opcode = static_cast<std::uint8_t>((flags & kDnsOpcodeMask) >> 11),
        .authoritative = (flags & kAuthoritative) != 0,
        .truncated = (flags & kTruncated) != 0,
        .recursion_desired = (flags & kDnsRecursionDesired) != 0,
        .recursion_available = (flags & kRecursionAvailable) != 0,
        .rcode = static_cast<std::uint8_t>(flags & 0xf),
        .questions = wire->questions.value(),
        .answers = wire->answers.value(),
        .authorities = wire->authorities.value(),
        .additionals = wire->additionals.value(),
    };
}

void DnsReader::stop(DnsDefect defect) noexcept {
    if (defect_ == DnsDefect::kNone) {
        defect_ = defect;
    }
}

// Every pointer must lead to before all that was read of this name so far ("a prior occurrence",
// RFC 1035 section 4.1.4): that alone rules out loops.
std::optional<DnsName> DnsReader::read_name(std::size_t& offset) noexcept {
    DnsName read;
    std::size_t at = offset;
    std::size_t lowest = offset;
    bool jumped = false;
    while (at < message_.size()) {
        const std::uint8_t length = message_[at];
        if (length == 0) {
            offset = jumped ? offset : at + 1;
            return read;
        }
        if ((length & kPointer) == kPointer) {
            const auto pointer = view<Be16>(message_, at);
            if (!pointer) {
                break;
            }
            const std::size_t target = pointer->value() & 0x3fff;
            if (target >= lowest || target < kDnsHeaderBytes) {
                stop(DnsDefect::kBadPointer);
                return std::nullopt;
            }
            offset = jumped ? offset : at + 2;
            jumped = true;
            lowest = at = target;
            continue;
        }
        if ((length & kPointer) != 0) {
            stop(DnsDefect::kBadLabel);
            return std::nullopt;
        }
        if (length > message_.size() - at - 1) {
            break;
        }
        if (!read.append_label(message_.subspan(at + 1, length))) {
            stop(DnsDefect::kLongName);
            return std::nullopt;
        }
        at += length + 1u;
    }
    stop(DnsDefect::kShort);
    return std::nullopt;
}

std::optional<DnsName> DnsReader::name_at(std::size_t offset) noexcept {
    return read_name(offset);
}

std::optional<DnsQuestion> DnsReader::next_question() noexcept {
    if (defect_ != DnsDefect::kNone || questions_read_ == header_.questions) {
        return std::nullopt;
    }
    const std::optional<DnsName> name = read_name(offset_);
    if (!name) {
        return std::nullopt;
    }
    const auto tail = view<DnsQuestionTail>(message_, offset_);
    if (!tail) {
        stop(DnsDefect::kShort);
        return std::nullopt;
    }
    offset_ += sizeof *tail;
    ++questions_read_;
    return DnsQuestion{*name, tail->type.value(), tail->query_class.value()};
}

DnsSection DnsReader::section_of(std::uint32_t index) const noexcept {
    if (index < header_.answers) {
        return DnsSection::kAnswer;
    }
    return index < std::uint32_t{header_.answers} + header_.authorities ? DnsSection::kAuthority
                                                                        : DnsSection::kAdditional;
}

std::optional<DnsRecord> DnsReader::next_record() noexcept {
    while (questions_read_ < header_.questions && next_question()) {
    }
    const std::uint32_t records =
        std::uint32_t{header_.answers} + header_.authorities + header_.additionals;
    if (defect_ != DnsDefect::kNone || records_read_ == records) {
        return std::nullopt;
    }
    const std::optional<DnsName> name = read_name(offset_);
    if (!name) {
        return std::nullopt;
    }
    const auto tail = view<RecordTail>(message_, offset_);
    if (!tail || tail->length.value() > message_.size() - offset_ - sizeof *tail) {
        stop(DnsDefect::kShort);
        return std::nullopt;
    }
    const std::size_t data_offset = offset_ + sizeof *tail;
    offset_ = data_offset + tail->length.value();
    return DnsRecord{
        .section = section_of(records_read_++),
        .name = *name,
        .type = tail->type.value(),
        .record_class = tail->record_class.value(),
        .ttl = tail->ttl.value(),
        .data_offset = data_offset,
        .data = message_.subspan(data_offset, tail->length.value()),
    };
}

std::size_t write_query(std::span<std::uint8_t> out, const DnsQuery& query) noexcept {
    Writer writer(out);
    writer.put(DnsWireHeader{.id = Be16(query.id),
                             .flags = Be16(query.recursion_desired ? kDnsRecursionDesired : 0),
                             .questions = Be16(1),
                             .additionals = Be16(query.udp_size == 0 ? 0 : 1)});
    writer.put_bytes(query.name.wire());
    writer.put(DnsQuestionTail{Be16(query.type), Be16(kDnsClassIn)});
    if (query.udp_size != 0) {
        writer.put(std::uint8_t{0});  // the root
        writer.put(RecordTail{.type = Be16(kDnsTypeOpt), .record_class = Be16(query.udp_size)});
    }
    return writer.fits() ? writer.used() : 0;
}

std::size_t write_answer(std::span<std::uint8_t> out, std::span<const std::uint8_t> query,
                         const DnsAnswer& answer) noexcept {
    DnsReader reader(query);
    const std::optional<DnsQuestion> question = reader.next_question();
    const auto asked = view<DnsWireHeader>(query, 0);
    if (!question || !asked) {
        return 0;
    }
    Writer writer(out);
    writer.put(DnsWireHeader{});
    writer.put_bytes(query.subspan(kDnsHeaderBytes, reader.offset() - kDnsHeaderBytes));
    if (!writer.fits()) {
        return 0;
    }
    RecordWriter records(writer, answer);
    if (!answer.truncated && question->query_class == kDnsClassIn) {
        write_records(records, answer, question->type);
    }
    std::uint32_t flags = kDnsResponse | static_cast<std::uint32_t>(answer.rcode);
    flags |= asked->flags.value() & (kDnsOpcodeMask | kDnsRecursionDesired);
    flags |= answer.authoritative ? kAuthoritative : 0u;
    flags |= answer.recursion_available ? kRecursionAvailable : 0u;
    flags |= answer.truncated || !records.complete() ? kTruncated : 0u;
    const DnsWireHeader header{.id = asked->id,
                               .flags = Be16(static_cast<std::uint16_t>(flags)),
                               .questions = Be16(1),
                               .answers = Be16(records.written())};
    std::memcpy(out.data(), &header, sizeof header);
    return writer.used();
}

std::optional<std::uint32_t> sequence_of(const DnsName& name) noexcept {
    const Bytes label = name.first_label();
    if (label.size() != 9 || lower(label[0]) != 'q') {
        return std::nullopt;
    }
    const auto sequence = hexadecimal(label.subspan(1));
    return sequence ? std::optional(static_cast<std::uint32_t>(*sequence)) : std::nullopt;
}

void write_sequence(std::span<std::uint8_t, 8> digits, std::uint32_t sequence) noexcept {
    for (std::size_t i = 8; i-- > 0; sequence >>= 4) {
        digits[i] = static_cast<std::uint8_t>("0123456789abcdef"[sequence & 0xf]);
    }
}

}  // namespace pathproof::frame
