#include "harness/truth/border.h"

namespace pathproof::truth {

Result<Border> find_border(Border border, int tries, const WrongAt& wrong_at) {
    for (int i = 0; i < tries; ++i) {
        const std::uint32_t low = std::min(border.right, border.wrong);
        const std::uint32_t high = std::max(border.right, border.wrong);
        if (high - low <= 1) {
            break;
        }
        const std::uint32_t middle = low + (high - low) / 2;
        const std::optional<bool> wrong = TRY(wrong_at(middle));
        if (!wrong) {
            break;
        }
        (*wrong ? border.wrong : border.right) = middle;
    }
    return border;
}

}  // namespace pathproof::truth
