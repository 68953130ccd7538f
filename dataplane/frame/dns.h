// DNS messages (RFC 1035) in a caller's buffer: queries and answers are written, any message is
// read safely, compressed names included. No allocation and no exception but where a name is made
// from or turned into text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::frame {

inline constexpr std::uint16_t kDnsTypeA = 1;
inline constexpr std::uint16_t kDnsTypeCname = 5;
inline constexpr std::uint16_t kDnsTypeAaaa = 28;
inline constexpr std::uint16_t kDnsClassIn = 1;
// The type of EDNS's record; its class is the size that is taken (RFC 6891 section 6.1.2).
inline constexpr std::uint16_t kDnsTypeOpt = 41;
inline constexpr std::size_t kDnsHeaderBytes = 12;

// The type of the record that holds an address.
constexpr std::uint16_t address_type(Family family) {
    return family == Family::kIpv4 ? kDnsTypeA : kDnsTypeAaaa;
}

// The response codes that the harness uses by name; a message may carry any of 0 to 15.
enum class Rcode : std::uint8_t {
    kNoError = 0,
    kFormErr = 1,
    kServFail = 2,
    kNxDomain = 3,
    kNotImp = 4,
    kRefused = 5,
};

// A domain name as it lies uncompressed in a message: labels with their lengths, ended by the empty
// one.
class DnsName {
  public:
    static constexpr std::size_t kMostBytes = 255;  // RFC 1035 section 2.3.4
    static constexpr std::size_t kMostLabel = 63;

    DnsName() = default;  // the root

    // "www.example.com", with or without the last dot; "." is the root. \DDD and \X as in RFC 1035
    // section 5.1. Errors (kBadInput): an empty label, a label over 63 bytes, a name over 255.
    static Result<DnsName> from_text(std::string_view text);
    // Returns the name without its last dot (the root is "."); bytes that are no letter, digit, '-'
    // or '_' are escaped.
    std::string to_text() const;

    std::span<const std::uint8_t> wire() const noexcept { return {bytes_.data(), size_}; }
    // The first label's bytes, without its length.
    std::span<const std::uint8_t> first_label() const noexcept {
        return {bytes_.data() + 1, bytes_[0]};
    }

    // Adds one label before the end; false, and no change, if it is empty or does not fit.
    bool append_label(std::span<const std::uint8_t> label) noexcept;
    // True if this name is `suffix` or lies under it; ASCII case does not count (RFC 4343).
    bool is_under(const DnsName& suffix) const noexcept;

  private:
    std::array<std::uint8_t, kMostBytes> bytes_{};
    std::uint8_t size_ = 1;
};

// ASCII case does not count (RFC 4343).
bool operator==(const DnsName& a, const DnsName& b) noexcept;

struct DnsHeader {
    std::uint16_t id = 0;
    bool response = false;
    std::uint8_t opcode = 0;
    bool authoritative = false;
    bool truncated = false;
    bool recursion_desired = false;
    bool recursion_available = false;
    std::uint8_t rcode = 0;
    std::uint16_t questions = 0;
    std::uint16_t answers = 0;
    std::uint16_t authorities = 0;
    std::uint16_t additionals = 0;
};

struct DnsQuestion {
    DnsName name;
    std::uint16_t type = 0;
    std::uint16_t query_class = 0;
};

enum class DnsSection : std::uint8_t { kAnswer, kAuthority, kAdditional };

struct DnsRecord {
    DnsSection section = DnsSection::kAnswer;
    DnsName name;
    std::uint16_t type = 0;
    std::uint16_t record_class = 0;
    std::uint32_t ttl = 0;
    std::size_t data_offset = 0;  // from the start of the message
    std::span<const std::uint8_t> data;

    // The address of an A or AAAA record of the right length.
    std::optional<IpAddress> address() const noexcept;
};

// Reason why a message could not be read further.
enum class DnsDefect : std::uint8_t {
    kNone,
    kShort,     // header, name, question or record goes beyond the message
    kBadLabel,  // a label type other than plain or pointer (RFC 6891 section 5 withdrew the others)
    kBadPointer,  // a pointer that does not point backwards, or into the header
    kLongName,    // over 255 bytes
};

// Reads a message front to back: the header at once, then questions, then records.
class DnsReader {
  public:
    explicit DnsReader(std::span<const std::uint8_t> message) noexcept;

    const DnsHeader& header() const noexcept { return header_; }  // all 0 if there is none
    DnsDefect defect() const noexcept { return defect_; }
    // The next one, or nothing at the end or at a defect.
    std::optional<DnsQuestion> next_question() noexcept;
    // Returns the next record of any section, or nothing at the end or at a defect; questions not
    // read yet are passed over.
    std::optional<DnsRecord> next_record() noexcept;
    // A name within the message, as in the data of a CNAME record.
    std::optional<DnsName> name_at(std::size_t offset) noexcept;
    std::size_t offset() const noexcept { return offset_; }

  private:
    std::optional<DnsName> read_name(std::size_t& offset) noexcept;
    void stop(DnsDefect defect) noexcept;
    DnsSection section_of(std::uint32_t index) const noexcept;

    std::span<const std::uint8_t> message_;
    DnsHeader header_;
    std::size_t offset_ = kDnsHeaderBytes;
    std::uint32_t questions_read_ = 0;
    std::uint32_t records_read_ = 0;
    DnsDefect defect_ = DnsDefect::kNone;
};

struct DnsQuery {
    std::uint16_t id = 0;
    DnsName name;
    std::uint16_t type = kDnsTypeA;
    bool recursion_desired = true;
    std::uint16_t udp_size = 0;  // EDNS: bytes that an answer over UDP may have; 0: without EDNS
};

// Writes a query; returns its length, or 0 if `out` is too small.
std::size_t write_query(std::span<std::uint8_t> out, const DnsQuery& query) noexcept;

struct DnsAnswer {
    Rcode rcode = Rcode::kNoError;
    bool truncated = false;  // sets TC and leaves all records out
    bool authoritative = true;
    bool recursion_available = true;
    std::uint32_t ttl = 30;
    const DnsName* cname = nullptr;  // one CNAME record before the addresses, which it then owns
    // Questions for A and AAAA get those of their family; all other types have none: NODATA (RFC
    // 2308 section 2.2).
    std::span<const IpAddress> addresses;
};

// Writes the answer to the query `query` (a whole message): its id, opcode, RD and first question
// are repeated byte for byte. A question of another class than IN gets no records. Records that do
// not fit `out` are left out and TC is set (RFC 2181 section 9). Returns the length, or 0 if
// `query` has no readable question or `out` is too small for header and question.
std::size_t write_answer(std::span<std::uint8_t> out, std::span<const std::uint8_t> query,
                         const DnsAnswer& answer) noexcept;

// The names that generated queries ask for: qNNNNNNNN.SUFFIX, the sequence in eight hexadecimal
// digits, so that an answer is recognised whatever NAT did to its addresses and ports.
Result<DnsName> sequence_name(std::uint32_t sequence, std::string_view suffix);
// The sequence, if the first label is of that form.
std::optional<std::uint32_t> sequence_of(const DnsName& name) noexcept;
// Eight hexadecimal digits of `sequence`, lower case.
void write_sequence(std::span<std::uint8_t, 8> digits, std::uint32_t sequence) noexcept;

}  // namespace pathproof::frame
