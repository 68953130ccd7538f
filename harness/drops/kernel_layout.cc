#include "harness/drops/kernel_layout.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "dataplane/base/owned.h"

namespace pathproof::drops {
namespace {

using Types = Owned<btf, btf__free>;

// Members of anonymous structures are looked into this deep.
constexpr int kMostNesting = 8;

struct Place {
    std::int32_t offset = 0;
    std::uint32_t type = 0;
};

std::uint32_t without_qualifiers(const btf& types, std::uint32_t id) {
    const btf_type* type = btf__type_by_id(&types, id);
    while (type != nullptr && (btf_is_mod(type) || btf_is_typedef(type))) {
        id = type->type;
        type = btf__type_by_id(&types, id);
    }
    return id;
}

// A member of a structure or union, those of its anonymous members included.
std::optional<Place> find_member(const btf& types, std::uint32_t structure, std::string_view name,
                                 int nesting = 0) {
    const btf_type* type = btf__type_by_id(&types, without_qualifiers(types, structure));
    if (type == nullptr || !btf_is_composite(type) || nesting > kMostNesting) {
        return std::nullopt;
    }
    const btf_member* members = btf_members(type);
    for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
        const std::uint32_t bit = btf_member_bit_offset(type, i);
        const char* member = btf__name_by_offset(&types, members[i].name_off);
        const std::string_view member_name = member != nullptr ? member : "";
        const auto offset = static_cast<std::int32_t>(bit / 8);
        if (member_name == name && bit % 8 == 0) {
            return Place{.offset = offset, .type = members[i].type};
        }
        if (!member_name.empty()) {
            continue;
        }
        if (auto inner = find_member(types, members[i].type, name, nesting + 1)) {
            inner->offset += offset;
            return inner;
        }
    }
    return std::nullopt;
}

// The offset of a member of a member: {"ns", "inum"} of "net".
std::optional<std::int32_t> find_offset(const btf& types, const char* structure,
                                        std::initializer_list<std::string_view> path) {
    const int id = btf__find_by_name_kind(&types, structure, BTF_KIND_STRUCT);
    if (id < 0) {
        return std::nullopt;
    }
    Place place{.offset = 0, .type = static_cast<std::uint32_t>(id)};
    for (const std::string_view name : path) {
        const auto member = find_member(types, place.type, name);
        if (!member) {
            return std::nullopt;
        }
        place = {.offset = place.offset + member->offset, .type = member->type};
    }
    return place.offset;
}

// struct nf_conn may be known to the module's types only.
std::optional<std::int32_t> find_entry_status(btf& kernel) {
    if (const auto offset = find_offset(kernel, "nf_conn", {"status"})) {
        return offset;
    }
    const Types module(btf__load_module_btf("nf_conntrack", &kernel));
    return module ? find_offset(*module, "nf_conn", {"status"}) : std::nullopt;
}

}  // namespace

Result<KernelLayout> kernel_layout() {
    libbpf_set_print(nullptr);
    const Types types(btf__load_vmlinux_btf());
    if (!types) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel's type information (CONFIG_DEBUG_INFO_BTF) cannot be read: {}",
                    std::strerror(errno));
    }
    KernelLayout layout;
    struct Wanted {
        std::int32_t& offset;
        const char* structure;
        std::initializer_list<std::string_view> path;
    };
    for (const Wanted& wanted : {
             Wanted{layout.skb_device, "sk_buff", {"dev"}},
             Wanted{layout.skb_socket, "sk_buff", {"sk"}},
             Wanted{layout.skb_route, "sk_buff", {"_skb_refdst"}},
             Wanted{layout.skb_head, "sk_buff", {"head"}},
             Wanted{layout.skb_network_header, "sk_buff", {"network_header"}},
             Wanted{layout.device_net, "net_device", {"nd_net", "net"}},
             Wanted{layout.socket_net, "sock", {"__sk_common", "skc_net", "net"}},
             Wanted{layout.route_device, "dst_entry", {"dev"}},
             Wanted{layout.net_inode, "net", {"ns", "inum"}},
         }) {
        const auto offset = find_offset(*types, wanted.structure, wanted.path);
        if (!offset) {
            return fail(ErrorCode::kKernelLacks, "this kernel's struct {} has no member {}",
                        wanted.structure, *std::prev(wanted.path.end()));
        }
        wanted.offset = *offset;
    }
    const auto entry = find_offset(*types, "sk_buff", {"_nfct"});
    const auto status = find_entry_status(*types);
    if (entry && status) {
        layout.conntrack = {.skb_entry = *entry, .entry_status = *status};
    }
    return layout;
}

}  // namespace pathproof::drops
