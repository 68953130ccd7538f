#include "harness/fate/follower.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "dataplane/base/owned.h"
#include "harness/drops/symbols.h"
#include "harness/fate/record_reader.h"
#include "harness/fate/tally.h"
// Made of fate.bpf.c; its types are those of record.h.
#include "fate.skel.h"

namespace pathproof::fate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLongestWaitMs = 50;
// For programs that run while they are detached.
constexpr std::chrono::milliseconds kProgramsEnd{2};
// Records that wait for the end of the watch: 200 MB at most.
constexpr std::size_t kMostRecords = 200'000;

std::int64_t to_realtime_ns() {
    const auto now = [](clockid_t clock) {
        timespec time{};
        clock_gettime(clock, &time);
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    return now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
}

// The reason of a failure: the first program that the kernel's verifier refuses and its last word on it; without one, the
// last line of libbpf.
std::mutex log_mutex;
std::string log_line;  // guarded by log_mutex
bool is_refusal = false;

// Finds the program's name and the verifier's last word on it. The text is "libbpf: prog 'freed': -- BEGIN PROG LOAD
// LOG --", the verifier's lines, and "processed 2 insns ..."; the word is the line before that one. Empty: it is no such text.
std::string refusal_in(const std::string& text) {
    const std::size_t begin = text.find(": -- BEGIN PROG LOAD LOG --");
    const std::size_t end = text.rfind("\nprocessed ");
    if (begin == std::string::npos || end == std::string::npos || end < begin) {
        return "";
    }
    const std::size_t last = text.rfind('\n', end - 1);
    return text.substr(0, begin) + ": " + text.substr(last + 1, end - last - 1);
}

int take_log(libbpf_print_level level, const char* format, va_list arguments) {
    if (level == LIBBPF_WARN) {
        va_list again;
        va_copy(again, arguments);
        const int length = vsnprintf(nullptr, 0, format, again);
        va_end(again);
        std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
        vsnprintf(text.data(), text.size(), format, arguments);
        text.pop_back();
        const std::string refusal = refusal_in(text);
        const std::lock_guard lock(log_mutex);
        if (!refusal.empty() || !is_refusal) {
            log_line = refusal.empty() ? text : refusal;
        }
        is_refusal = is_refusal || !refusal.empty();
    }
    return 0;
}

// The names of the kernel's drop reasons, by number (enum skb_drop_reason).
std::map<std::uint32_t, std::string> drop_reasons(const btf& types) {
    constexpr std::string_view kPrefix = "SKB_DROP_REASON_";
    std::map<std::uint32_t, std::string> reasons;
    const int id = btf__find_by_name_kind(&types, "skb_drop_reason", BTF_KIND_ENUM);
    const btf_type* type = id < 0 ? nullptr : btf__type_by_id(&types, static_cast<__u32>(id));
    if (type == nullptr) {
        return reasons;
    }
    const struct btf_enum* values = btf_enum(type);
    for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
        const std::string_view word = btf__name_by_offset(&types, values[i].name_off);
        if (word.starts_with(kPrefix)) {
            reasons[static_cast<std::uint32_t>(values[i].val)] = word.substr(kPrefix.size());
        }
    }
    return reasons;
}

// The arguments of a tracepoint; 0: the kernel has none of this name.
std::uint32_t arguments_of(const btf& types, const std::string& tracepoint) {
    const int id =
        btf__find_by_name_kind(&types, ("btf_trace_" + tracepoint).c_str(), BTF_KIND_TYPEDEF);
    const btf_type* type = id < 0 ? nullptr : btf__type_by_id(&types, static_cast<__u32>(id));
    while (type != nullptr && !btf_is_func_proto(type)) {
        if (!btf_is_typedef(type) && !btf_is_ptr(type)) {
            return 0;
        }
        type = btf__type_by_id(&types, type->type);
    }
    // The first one is the tracepoint's own (void *__data).
    return type == nullptr || btf_vlen(type) == 0 ? 0 : btf_vlen(type) - 1;
}

// A tracepoint, and the facts that stay unknown on a kernel without it.
struct Untold {
    std::string_view tracepoint;
    std::string_view text;
};
constexpr Untold kUntold[] = {
    {"kfree_skb", "where packets are dropped"},
    {"consume_skb", "where packets are consumed"},
    {"kmem_cache_free", "when TCP gives packets back"},
    {"napi_gro_receive_entry", "what GRO merges"},
    {"napi_gro_receive_exit", "what GRO merges"},
    {"icmp_send", "which packets an ICMP error answers (since Linux 6.11)"},
    {"tcp_send_reset", "which packets a RST answers"},
    {"tcp_probe", "which packets a TCP socket takes"},
};

// Inodes of the namespaces that have a name below /run/netns.
std::map<std::uint32_t, std::string> netns_names() {
    std::map<std::uint32_t, std::string> names;
    std::error_code problem;
    for (const auto& file : std::filesystem::directory_iterator("/run/netns", problem)) {
        struct stat status {};
        if (stat(file.path().c_str(), &status) == 0) {
            names.emplace(static_cast<std::uint32_t>(status.st_ino), file.path().filename());
        }
    }
    return names;
}

std::string without_offset(std::string symbol) {
    if (symbol.starts_with("0x")) {
        return "";
    }
    symbol.erase(std::min(symbol.find('+'), symbol.size()));
    // "ip_rcv.isra.0": a copy that the compiler made.
    symbol.erase(std::min(symbol.find('.'), symbol.size()));
    return symbol;
}

using Programs = Owned<fate_bpf, fate_bpf__destroy>;
using Ring = Owned<ring_buffer, ring_buffer__free>;

class KernelFollower final : public Follower {
  public:
    ~KernelFollower() override { end_reader(); }

    Status open(const FollowOptions& options) {
        if (options.flows.empty() || options.flows.size() > FATE_MOST_FILTERS) {
            return fail(ErrorCode::kBadInput, "1 to {} flows can be followed at once; these are {}",
                        FATE_MOST_FILTERS, options.flows.size());
        }
        most_packets_ = options.most_packets;
        libbpf_set_print(take_log);
        const Owned<btf, btf__free> types(btf__load_vmlinux_btf());
        if (!types) {
            return fail(ErrorCode::kKernelLacks,
                        "packets are followed by the kernel's type information "
                        "(CONFIG_DEBUG_INFO_BTF), which cannot be read: {}",
                        std::strerror(errno));
        }
        reasons_ = drop_reasons(*types);
        // Kernels between 6.4 and 6.11 have the function, and refuse it to these programs.
        const bool has_function =
            btf__find_by_name_kind(types.get(), "bpf_dynptr_from_skb", BTF_KIND_FUNC) > 0;
        if (!has_function || !load(*types, options, true)) {
            TRY(load(*types, options, false));
        }
        ring_.reset(ring_buffer__new(
            bpf_map__fd(programs_->maps.ended),
            [](void* self, void* data, std::size_t bytes) {
                static_cast<KernelFollower*>(self)->take(data, bytes);
                return 0;
            },
            this, nullptr));
        if (!ring_) {
            return failed("open the ring of records");
        }
        if (fate_bpf__attach(programs_.get()) != 0) {
            return failed("attach the programs that follow packets");
        }
        to_realtime_ns_ = to_realtime_ns();
        started_ = Clock::now();
        reader_ = std::thread([this] {
            while (!ending_) {
                ring_buffer__poll(ring_.get(), kLongestWaitMs);
            }
        });
        return {};
    }

    Fates stop() override {
        const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
        end_reader();
        look_at_held();
        // From here on each packet has its record in the ring or is still held: none ends between the two.
        fate_bpf__detach(programs_.get());
        std::this_thread::sleep_for(kProgramsEnd);
        ring_buffer__consume(ring_.get());
        take_held();
        const fate_losses losses = programs_->bss->losses;

        Fates fates = add_up();
        fates.seconds = seconds;
        fates.lost = losses.ring_full + losses.table_full + too_many_;
        fates.cannot_tell = cannot_tell_;
        return fates;
    }

  private:
    // `reads_pages`: headers of packets that lie in pages are read too.
    Status load(const btf& types, const FollowOptions& options, bool reads_pages) {
        forget_log();
        programs_.reset(fate_bpf__open());
        if (!programs_) {
            return failed("open the programs that follow packets");
        }
        choose_programs(types, options.only_drops);
        programs_->rodata->filters = static_cast<__u32>(options.flows.size());
        programs_->rodata->only_drops = options.only_drops ? 1 : 0;
        programs_->rodata->reads_pages = reads_pages ? 1 : 0;
        for (std::size_t i = 0; i < options.flows.size(); ++i) {
            programs_->rodata->filter[i] = to_filter(options.flows[i]);
        }
        return fate_bpf__load(programs_.get()) == 0
                   ? Status()
                   : failed("load the programs that follow packets");
    }

    static void forget_log() {
        const std::lock_guard lock(log_mutex);
        log_line.clear();
        is_refusal = false;
    }

    static Failure failed(const std::string& doing) {
        const int problem = errno;
        const std::lock_guard lock(log_mutex);
        std::string why = log_line;
        why.erase(why.find_last_not_of(" \n") + 1);
        // EACCES is the verifier's word.
        if (problem == EPERM) {
            return fail(ErrorCode::kNotPermitted,
                        "{}: {}; run as root outside of a container (CAP_BPF, CAP_PERFMON)", doing,
                        std::strerror(problem));
        }
        return fail(ErrorCode::kKernelLacks, "{}: {}{}", doing, std::strerror(problem),
                    why.empty() ? "" : " (" + why + ")");
    }

    // `only_drops`: no packet is begun before kfree_skb, so that no other program would find one.
    void choose_programs(const btf& types, bool only_drops) {
        std::set<std::string> untold;
        bpf_program* program = nullptr;
        bpf_object__for_each_program(program, programs_->obj) {
            const std::string section = bpf_program__section_name(program);
            if (section.find('/') == std::string::npos) {
                continue;  // it is run, and attached to nothing
            }
            const std::string tracepoint = section.substr(section.find('/') + 1);
            const std::uint32_t arguments = arguments_of(types, tracepoint);
            const std::string_view own = bpf_program__name(program);
            // Since Linux 6.4 consume_skb tells where.
            if (arguments == 0 || (only_drops && own != "freed") ||
                (own == "consumed" && arguments != 1) || (own == "consumed_at" && arguments < 2)) {
                bpf_program__set_autoload(program, false);
            }
            if (arguments == 0) {
                const auto known = std::ranges::find(kUntold, tracepoint, &Untold::tracepoint);
                untold.insert(known == std::end(kUntold) ? "when packets pass " + tracepoint
                                                         : std::string(known->text));
            }
        }
        cannot_tell_.assign(untold.begin(), untold.end());
    }

    void take(const void* data, std::size_t bytes) {
        const auto record = read_record({static_cast<const std::byte*>(data), bytes});
        if (!record) {
            return;
        }
        if (records_.size() >= kMostRecords) {
            ++too_many_;
            return;
        }
        const auto* begin = static_cast<const std::byte*>(data);
        records_.emplace_back(begin, begin + bytes);
    }

    void end_reader() {
        ending_ = true;
        if (reader_.joinable()) {
            reader_.join();
        }
    }

    // The program of the kernel looks where they are: nothing else may read a sk_buff.
    void look_at_held() {
        LIBBPF_OPTS(bpf_test_run_opts, run);
        bpf_prog_test_run_opts(bpf_program__fd(programs_->progs.look_at_held), &run);
    }

    // Takes the packets that are in no end yet.
    void take_held() {
        const int map = bpf_map__fd(programs_->maps.followed);
        __u64 key = 0, next = 0;
        const __u64* at = nullptr;
        auto record = std::make_unique<fate_record>();
        while (bpf_map_get_next_key(map, at, &next) == 0) {
            key = next;
            at = &key;
            if (bpf_map_lookup_elem(map, &key, record.get()) == 0) {
                take(record.get(), sizeof *record);
            }
        }
    }

    Fates add_up() {
        std::vector<std::uint64_t> addresses;
        for (const auto& bytes : records_) {
            const auto record = read_record(bytes);
            addresses.push_back(record->location);
            for (const std::uint64_t address : record->stack) {
                addresses.push_back(address);
            }
        }
        std::ranges::sort(addresses);
        addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
        drops::KernelSymbols symbols;
        symbols.learn(addresses);
        std::map<std::uint64_t, std::string> functions;
        for (const std::uint64_t address : addresses) {
            functions[address] = without_offset(symbols.name(address));
        }
        const auto netns = netns_names();
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> devices = device_names();
        const Names names{
            .function = [&](std::uint64_t address) { return functions[address]; },
            .reason =
                [&](std::uint32_t reason) {
                    const auto found = reasons_.find(reason);
                    return found != reasons_.end() ? found->second
                                                   : fmt::format("reason {}", reason);
                },
            .netns =
                [&](std::uint32_t inode) {
                    const auto found = netns.find(inode);
                    return found != netns.end() ? found->second : fmt::format("netns {}", inode);
                },
            .device =
                [&](std::uint32_t inode, std::uint32_t index) {
                    const auto found = devices.find({inode, index});
                    return found != devices.end() ? found->second : fmt::format("device {}", index);
                },
        };
        struct stat own {};
        const bool known = stat("/proc/thread-self/ns/net", &own) == 0;
        EndTally tally(most_packets_);
        for (const auto& bytes : records_) {
            tally.add(*read_record(bytes), names, to_realtime_ns_);
        }
        Fates fates = tally.take();
        fates.netns = known ? names.netns(static_cast<std::uint32_t>(own.st_ino)) : "";
        return fates;
    }

    std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> device_names() const {
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> names;
        const int map = bpf_map__fd(programs_->maps.devices);
        fate_device key{}, next{};
        const fate_device* at = nullptr;
        while (bpf_map_get_next_key(map, at, &next) == 0) {
            key = next;
            at = &key;
            char name[FATE_DEVICE_BYTES + 1]{};
            if (bpf_map_lookup_elem(map, &key, name) == 0) {
                names[{key.netns, key.index}] = name;
            }
        }
        return names;
    }

    Programs programs_;
    Ring ring_;
    std::map<std::uint32_t, std::string> reasons_;
    std::vector<std::string> cannot_tell_;
    std::uint64_t most_packets_ = 0;
    std::int64_t to_realtime_ns_ = 0;
    Clock::time_point started_;
    std::atomic<bool> ending_ = false;
    // The reader's until it has ended.
    std::vector<std::vector<std::byte>> records_;
    std::uint64_t too_many_ = 0;
    std::thread reader_;
};

}  // namespace

Result<std::unique_ptr<Follower>> Follower::start(const FollowOptions& options) {
    auto follower = std::make_unique<KernelFollower>();
    TRY(follower->open(options));
    return follower;
}

}  // namespace pathproof::fate
