// Writing a small BPF program, instruction by instruction.
#pragma once

#include <linux/bpf.h>

#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

namespace pathproof::drops {

enum class Register : std::uint8_t { r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, frame };
enum class Width : std::uint8_t { k1 = BPF_B, k2 = BPF_H, k4 = BPF_W, k8 = BPF_DW };

// Operations are BPF_ADD, BPF_AND, BPF_MOV, comparisons BPF_JEQ, BPF_JNE, BPF_JGE of linux/bpf.h and
// linux/bpf_common.h.
class BpfCode {
  public:
    // A place to jump to, ahead of the jump: bound once with place().
    using Label = std::size_t;
    Label label() {
        places_.push_back(kUnplaced);
        return places_.size() - 1;
    }
    void place(Label label) {
        assert(places_[label] == kUnplaced);
        places_[label] = code_.size();
    }

    // 64 bits wide; the constant is sign-extended.
    void arithmetic(int operation, Register target, Register source) {
        add(BPF_ALU64 | BPF_X | operation, target, source);
    }
    void arithmetic(int operation, Register target, std::int32_t constant) {
        add(BPF_ALU64 | BPF_K | operation, target, Register::r0, 0, constant);
    }
    // The lower 32 bits; the upper ones become zero.
    void move32(Register target, std::uint32_t constant) {
        add(BPF_ALU | BPF_K | BPF_MOV, target, Register::r0, 0,
            std::bit_cast<std::int32_t>(constant));
    }
    void load_map(Register target, int map_fd) {
        add(BPF_LD | BPF_DW | BPF_IMM, target, Register{BPF_PSEUDO_MAP_FD}, 0, map_fd);
        add(0);
    }
    // target = *(base + offset), zero-extended.
    void load(Width width, Register target, Register base, std::int16_t offset) {
        add(BPF_LDX | BPF_MEM | static_cast<int>(width), target, base, offset);
    }
    // *(base + offset) = source.
    void store(Width width, Register base, std::int16_t offset, Register source) {
        add(BPF_STX | BPF_MEM | static_cast<int>(width), base, source, offset);
    }
    void store(Width width, Register base, std::int16_t offset, std::int32_t constant) {
        add(BPF_ST | BPF_MEM | static_cast<int>(width), base, Register::r0, offset, constant);
    }

    void jump(Label to) { add_jump(BPF_JMP | BPF_JA, Register::r0, 0, to); }
    // All 64 bits against the sign-extended constant.
    void jump_if(Register value, int comparison, std::int32_t constant, Label to) {
        add_jump(BPF_JMP | BPF_K | comparison, value, constant, to);
    }
    // The lower 32 bits, unsigned.
    void jump_if32(Register value, int comparison, std::uint32_t constant, Label to) {
        add_jump(BPF_JMP32 | BPF_K | comparison, value, std::bit_cast<std::int32_t>(constant), to);
    }
    void call(std::int32_t helper) {
        add(BPF_JMP | BPF_CALL, Register::r0, Register::r0, 0, helper);
    }
    void exit() { add(BPF_JMP | BPF_EXIT); }

    // The finished program: all jumps resolved.
    std::vector<bpf_insn> finish() const {
        std::vector<bpf_insn> code = code_;
        for (const Jump& jump : jumps_) {
            assert(places_[jump.to] != kUnplaced);
            // Counted from the instruction after the jump.
            code[jump.at].off = static_cast<std::int16_t>(places_[jump.to] - jump.at - 1);
        }
        return code;
    }

  private:
    static constexpr std::size_t kUnplaced = SIZE_MAX;
    struct Jump {
        std::size_t at;
        Label to;
    };

    void add(int code, Register target = Register::r0, Register source = Register::r0,
             std::int16_t offset = 0, std::int32_t constant = 0) {
        bpf_insn instruction{};
        instruction.code = static_cast<std::uint8_t>(code);
        instruction.dst_reg = static_cast<std::uint8_t>(target) & 0xf;
        instruction.src_reg = static_cast<std::uint8_t>(source) & 0xf;
        instruction.off = offset;
        instruction.imm = constant;
        code_.push_back(instruction);
    }
    void add_jump(int code, Register value, std::int32_t constant, Label to) {
        jumps_.push_back({.at = code_.size(), .to = to});
        add(code, value, Register::r0, 0, constant);
    }

    std::vector<bpf_insn> code_;
    std::vector<Jump> jumps_;
    std::vector<std::size_t> places_;
};

}  // namespace pathproof::drops
