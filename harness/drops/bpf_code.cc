#include "harness/drops/bpf_code.h"

#include <bit>
#include <cassert>

namespace pathproof::drops {
namespace {

constexpr std::size_t kUnplaced = SIZE_MAX;

template <typename Enum>
int bits(Enum value) {
    return static_cast<int>(value);
}

}  // namespace

BpfCode::Label BpfCode::label() {
    places_.push_back(kUnplaced);
    return places_.size() - 1;
}

void BpfCode::place(Label label) {
    assert(places_[label] == kUnplaced);
    places_[label] = code_.size();
}

void BpfCode::add(int code, Register target, Register source, std::int16_t offset,
                  std::int32_t constant) {
    bpf_insn instruction{};
    instruction.code = static_cast<std::uint8_t>(code);
    instruction.dst_reg = static_cast<std::uint8_t>(target) & 0xf;
    instruction.src_reg = static_cast<std::uint8_t>(source) & 0xf;
    instruction.off = offset;
    instruction.imm = constant;
    code_.push_back(instruction);
}

void BpfCode::arithmetic(Arithmetic operation, Register target, Register source) {
    add(BPF_ALU64 | BPF_X | bits(operation), target, source, 0, 0);
}

void BpfCode::arithmetic(Arithmetic operation, Register target, std::int32_t constant) {
    add(BPF_ALU64 | BPF_K | bits(operation), target, Register::r0, 0, constant);
}

void BpfCode::move32(Register target, std::uint32_t constant) {
    add(BPF_ALU | BPF_K | BPF_MOV, target, Register::r0, 0, std::bit_cast<std::int32_t>(constant));
}

void BpfCode::load_map(Register target, int map_fd) {
    add(BPF_LD | BPF_DW | BPF_IMM, target, Register{BPF_PSEUDO_MAP_FD}, 0, map_fd);
    add(0, Register::r0, Register::r0, 0, 0);
}

void BpfCode::load(Width width, Register target, Register base, std::int16_t offset) {
    add(BPF_LDX | BPF_MEM | bits(width), target, base, offset, 0);
}

void BpfCode::store(Width width, Register base, std::int16_t offset, Register source) {
    add(BPF_STX | BPF_MEM | bits(width), base, source, offset, 0);
}

void BpfCode::store(Width width, Register base, std::int16_t offset, std::int32_t constant) {
    add(BPF_ST | BPF_MEM | bits(width), base, Register::r0, offset, constant);
}

void BpfCode::add_jump(int code, Register value, std::int32_t constant, Label to) {
    jumps_.push_back({.at = code_.size(), .to = to});
    add(code, value, Register::r0, 0, constant);
}

void BpfCode::jump(Label to) {
    add_jump(BPF_JMP | BPF_JA, Register::r0, 0, to);
}

void BpfCode::jump_if(Register value, Compare compare, std::int32_t constant, Label to) {
    add_jump(BPF_JMP | BPF_K | bits(compare), value, constant, to);
}

void BpfCode::jump_if32(Register value, Compare compare, std::uint32_t constant, Label to) {
    add_jump(BPF_JMP32 | BPF_K | bits(compare), value, std::bit_cast<std::int32_t>(constant), to);
}

void BpfCode::call(std::int32_t helper) {
    add(BPF_JMP | BPF_CALL, Register::r0, Register::r0, 0, helper);
}

void BpfCode::exit() {
    add(BPF_JMP | BPF_EXIT, Register::r0, Register::r0, 0, 0);
}

std::vector<bpf_insn> BpfCode::finish() const {
    std::vector<bpf_insn> code = code_;
    for (const Jump& jump : jumps_) {
        assert(places_[jump.to] != kUnplaced);
        // Counted from the instruction after the jump.
        code[jump.at].off = static_cast<std::int16_t>(places_[jump.to] - jump.at - 1);
    }
    return code;
}

}  // namespace pathproof::drops
