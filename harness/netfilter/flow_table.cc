#include "harness/netfilter/flow_table.h"

#include <cstring>
#include <limits>
#include <new>

namespace pathproof::netfilter {
namespace {

constexpr std::size_t kFlowsInChunk = 4096;
constexpr std::size_t kFirstIndex = 1024;  // cells; always a power of two
constexpr std::uint32_t kWideCell = 1u << 31;

// Behind a Flow lie its ports, then its addresses: source and destination of the original, then of
// the reply direction. With ICMP the ports are id, and type and code, of each direction.
using Ports = std::array<std::uint16_t, 4>;
constexpr std::size_t kAddressesAt = sizeof(Flow) + sizeof(Ports);
constexpr std::size_t kNarrowBytes = kAddressesAt + 4 * 4;
constexpr std::size_t kWideBytes = kAddressesAt + 4 * 16;
static_assert(kNarrowBytes == 52 && kWideBytes == 100);

// Status bits whose change causes no event. HW_OFFLOAD, SRC_NAT_DONE and DST_NAT_DONE have no name
// above and are given as numbers.
constexpr std::uint32_t kSilentBits =
    status::kConfirmed | status::kDying | status::kOffload | 1u << 15 | 1u << 7 | 1u << 8;

std::size_t address_bytes(const Flow& flow) {
    return flow.wide ? 16 : 4;
}

std::byte* behind(const Flow& flow) {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&flow)) + sizeof(Flow);
}

bool is_wide(const Tuple& tuple) {
    return tuple.source.address.family == frame::Family::kIpv6;
}

std::uint16_t first_port(const Tuple& tuple) {
    return tuple.icmp ? tuple.icmp->id : tuple.source.port;
}
std::uint16_t second_port(const Tuple& tuple) {
    return tuple.icmp ? static_cast<std::uint16_t>(tuple.icmp->type << 8 | tuple.icmp->code)
                      : tuple.destination.port;
}

Ports ports_of(const Entry& entry) {
    return {first_port(entry.original), second_port(entry.original), first_port(entry.reply),
            second_port(entry.reply)};
}

enum class Side { kOriginal, kReply };

bool same_tuple(const Flow& flow, Side side, const Tuple& tuple) {
    if (flow.wide != is_wide(tuple) || flow.protocol != tuple.protocol ||
        flow.icmp != tuple.icmp.has_value()) {
        return false;
    }
    const std::size_t size = address_bytes(flow);
    const std::size_t first = side == Side::kOriginal ? 0 : 2;
    const std::uint16_t wanted[2]{first_port(tuple), second_port(tuple)};
    const std::byte* addresses = behind(flow) + sizeof(Ports) + first * size;
    return std::memcmp(behind(flow) + first * sizeof wanted[0], wanted, sizeof wanted) == 0 &&
           std::memcmp(addresses, tuple.source.address.bytes.data(), size) == 0 &&
           std::memcmp(addresses + size, tuple.destination.address.bytes.data(), size) == 0;
}

// A direction without addresses of the flow's family (no kernel sends that) keeps the bytes that it
// has.
void store_tuples(Flow& flow, const Entry& entry) {
    const Ports ports = ports_of(entry);
    std::memcpy(behind(flow), ports.data(), sizeof ports);
    std::byte* out = behind(flow) + sizeof ports;
    for (const Tuple* tuple : {&entry.original, &entry.reply}) {
        for (const frame::Endpoint* end : {&tuple->source, &tuple->destination}) {
            std::memcpy(out, end->address.bytes.data(), address_bytes(flow));
            out += address_bytes(flow);
        }
    }
}

Tuple load_tuple(const Flow& flow, Side side) {
    const std::size_t size = address_bytes(flow);
    const std::size_t first = side == Side::kOriginal ? 0 : 2;
    Ports ports;
    std::memcpy(ports.data(), behind(flow), sizeof ports);
    Tuple tuple;
    tuple.protocol = flow.protocol;
    const std::byte* in = behind(flow) + sizeof ports + first * size;
    for (frame::Endpoint* end : {&tuple.source, &tuple.destination}) {
        end->address.family = flow.wide ? frame::Family::kIpv6 : frame::Family::kIpv4;
        std::memcpy(end->address.bytes.data(), in, size);
        in += size;
    }
    if (flow.icmp) {
        tuple.icmp = Tuple::Icmp{static_cast<std::uint8_t>(ports[first + 1] >> 8),
                                 static_cast<std::uint8_t>(ports[first + 1]), ports[first]};
    } else {
        tuple.source.port = ports[first];
        tuple.destination.port = ports[first + 1];
    }
    return tuple;
}

std::string label_bytes(const Entry& entry) {
    return {entry.labels.begin(), entry.labels.end()};
}

std::uint32_t start_of(const Entry& entry) {
    return entry.started_ns ? static_cast<std::uint32_t>(*entry.started_ns >> 20) : 0;
}

}  // namespace

template <typename Number>
Number Interner<Number>::number(const std::string& word) {
    if (word.empty()) {
        return 0;
    }
    const auto known = numbers_.find(word);
    if (known != numbers_.end()) {
        return known->second;
    }
    if (words_.size() > std::numeric_limits<Number>::max()) {
        return 0;
    }
    const auto next = static_cast<Number>(words_.size());
    words_.push_back(word);
    numbers_.emplace(word, next);
    return next;
}

Flow& FlowPool::at(std::uint32_t number) const {
    return *std::launder(reinterpret_cast<Flow*>(chunks_[number / kFlowsInChunk].get() +
                                                 number % kFlowsInChunk * record_bytes_));
}

std::uint32_t FlowPool::take() {
    if (!free_.empty()) {
        const std::uint32_t number = free_.back();
        free_.pop_back();
        return number;
    }
    if (used_ == chunks_.size() * kFlowsInChunk) {
        chunks_.push_back(
            std::make_unique_for_overwrite<std::byte[]>(kFlowsInChunk * record_bytes_));
    }
    new (chunks_.back().get() + used_ % kFlowsInChunk * record_bytes_) Flow;
    return used_++;
}

void FlowPool::give_back(std::uint32_t number) {
    at(number).live = 0;
    free_.push_back(number);
}

std::size_t FlowPool::memory_bytes() const {
    return chunks_.size() * kFlowsInChunk * record_bytes_ +
           free_.capacity() * sizeof(std::uint32_t);
}

FlowTable::FlowTable() : narrow_(kNarrowBytes), wide_(kWideBytes), index_(kFirstIndex) {}

Flow& FlowTable::at(std::uint32_t cell) const {
    const FlowPool& from = cell & kWideCell ? wide_ : narrow_;
    return from.at((cell & ~kWideCell) - 1);
}

Flow* FlowTable::find(const Entry& entry) {
    for (std::size_t i = home(entry.id); index_[i] != 0; i = (i + 1) & (index_.size() - 1)) {
        Flow& flow = at(index_[i]);
        if (flow.id == entry.id && flow.zone == entry.zone &&
            same_tuple(flow, Side::kOriginal, entry.original) &&
            same_tuple(flow, Side::kReply, entry.reply)) {
            return &flow;
        }
    }
    return nullptr;
}

Flow& FlowTable::insert(const Entry& entry) {
    if (size_ * 4 >= index_.size() * 3) {
        grow();
    }
    const bool wide = is_wide(entry.original);
    const std::uint32_t number = (wide ? wide_ : narrow_).take();
    const std::uint32_t cell = (number + 1) | (wide ? kWideCell : 0);
    Flow& flow = (wide ? wide_ : narrow_).at(number);
    flow = Flow{};
    flow.id = entry.id;
    flow.zone = entry.zone;
    flow.zone_direction = static_cast<std::uint8_t>(entry.zone_direction) & 3;
    flow.protocol = entry.original.protocol;
    flow.icmp = entry.original.icmp.has_value();
    flow.wide = wide;
    flow.live = 1;
    update(flow, entry);
    put_into_index(cell);
    ++size_;
    return flow;
}

void FlowTable::put_into_index(std::uint32_t cell) {
    std::size_t i = home(at(cell).id);
    while (index_[i] != 0) {
        i = (i + 1) & (index_.size() - 1);
    }
    index_[i] = cell;
}

void FlowTable::grow() {
    const std::vector<std::uint32_t> old =
        std::exchange(index_, std::vector<std::uint32_t>(index_.size() * 2));
    for (const std::uint32_t cell : old) {
        if (cell != 0) {
            put_into_index(cell);
        }
    }
}

void FlowTable::erase(Flow& flow) {
    const std::size_t mask = index_.size() - 1;
    std::size_t hole = home(flow.id);
    while (&at(index_[hole]) != &flow) {
        hole = (hole + 1) & mask;
    }
    const std::uint32_t number = (index_[hole] & ~kWideCell) - 1;
    // Cells behind the hole move into it as long as that does not take them before their home.
    for (std::size_t i = (hole + 1) & mask; index_[i] != 0; i = (i + 1) & mask) {
        if (((i - home(at(index_[i]).id)) & mask) >= ((i - hole) & mask)) {
            index_[hole] = index_[i];
            hole = i;
        }
    }
    index_[hole] = 0;
    (flow.wide ? wide_ : narrow_).give_back(number);
    --size_;
}

void FlowTable::update(Flow& flow, const Entry& entry) {
    store_tuples(flow, entry);
    if (entry.status != 0) {
        flow.status = entry.status;
    }
    // An event without a mark says that it is zero (ctnetlink_dump_mark).
    flow.mark = entry.mark;
    if (const std::uint32_t start = start_of(entry); start != 0) {
        flow.started = start;
    }
    if (!entry.protocol_state.empty()) {
        flow.state = words_.number(entry.protocol_state);
    }
    if (!entry.helper.empty()) {
        flow.helper = words_.number(entry.helper);
    }
    if (!entry.labels.empty()) {
        flow.labels = label_sets_.number(label_bytes(entry));
    }
}

bool FlowTable::differs(const Flow& flow, const Entry& entry) {
    const auto differ = [](auto known, auto now) { return now != 0 && known != now; };
    return ((flow.status ^ entry.status) & ~kSilentBits) != 0 || flow.mark != entry.mark ||
           differ(flow.state, words_.number(entry.protocol_state)) ||
           differ(flow.helper, words_.number(entry.helper)) ||
           differ(flow.labels, label_sets_.number(label_bytes(entry)));
}

bool FlowTable::is_other(const Flow& flow, const Entry& entry) const {
    const std::uint32_t start = start_of(entry);
    return (start != 0 && flow.started != 0 && start != flow.started) ||
           (flow.status & ~entry.status & status::kSeenReply) != 0;
}

Entry FlowTable::entry(const Flow& flow) const {
    Entry entry;
    entry.id = flow.id;
    entry.original = load_tuple(flow, Side::kOriginal);
    entry.reply = load_tuple(flow, Side::kReply);
    entry.status = flow.status;
    entry.mark = flow.mark;
    entry.mark_reported = flow.mark != 0;
    entry.zone = flow.zone;
    entry.zone_direction = static_cast<ZoneDirection>(flow.zone_direction);
    entry.protocol_state = words_.word(flow.state);
    entry.helper = words_.word(flow.helper);
    const std::string& labels = label_sets_.word(flow.labels);
    entry.labels.assign(labels.begin(), labels.end());
    return entry;
}

std::size_t FlowTable::memory_bytes() const {
    return narrow_.memory_bytes() + wide_.memory_bytes() + index_.capacity() * sizeof index_[0];
}

void FlowTable::each(const std::function<void(Flow&)>& visit) const {
    for (const FlowPool* pool : {&narrow_, &wide_}) {
        for (std::uint32_t number = 0; number < pool->used(); ++number) {
            if (Flow& flow = pool->at(number); flow.live) {
                visit(flow);
            }
        }
    }
}

}  // namespace pathproof::netfilter
