// Writing a small BPF program, instruction by instruction.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

namespace pathproof::drops {

enum class Register : std::uint8_t { r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, frame };
enum class Width : std::uint8_t { k1 = BPF_B, k2 = BPF_H, k4 = BPF_W, k8 = BPF_DW };

// What comparisons and arithmetic do; the numbers are those of linux/bpf_common.h and linux/bpf.h.
enum class Arithmetic : std::uint8_t { kAdd = BPF_ADD, kAnd = BPF_AND, kMove = BPF_MOV };
enum class Compare : std::uint8_t { kEqual = BPF_JEQ, kNotEqual = BPF_JNE, kAtLeast = BPF_JGE };

class BpfCode {
  public:
    // A place to jump to, ahead of the jump: bound once with place().
    using Label = std::size_t;
    Label label();
    void place(Label label);

    // 64 bits wide; the constant is sign-extended.
    void arithmetic(Arithmetic operation, Register target, Register source);
    void arithmetic(Arithmetic operation, Register target, std::int32_t constant);
    // The lower 32 bits; the upper ones become zero.
    void move32(Register target, std::uint32_t constant);
    void load_map(Register target, int map_fd);
    // target = *(base + offset), zero-extended.
    void load(Width width, Register target, Register base, std::int16_t offset);
    // *(base + offset) = source.
    void store(Width width, Register base, std::int16_t offset, Register source);
    void store(Width width, Register base, std::int16_t offset, std::int32_t constant);

    void jump(Label to);
    // All 64 bits against the sign-extended constant.
    void jump_if(Register value, Compare compare, std::int32_t constant, Label to);
    // The lower 32 bits, unsigned.
    void jump_if32(Register value, Compare compare, std::uint32_t constant, Label to);
    void call(std::int32_t helper);
    void exit();

    // The finished program: all jumps resolved.
    std::vector<bpf_insn> finish() const;

  private:
    struct Jump {
        std::size_t at;
        Label to;
    };
    void add(int code, Register target, Register source, std::int16_t offset,
             std::int32_t constant);
    void add_jump(int code, Register value, std::int32_t constant, Label to);

    std::vector<bpf_insn> code_;
    std::vector<Jump> jumps_;
    std::vector<std::size_t> places_;
};

}  // namespace pathproof::drops
