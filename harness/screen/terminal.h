// A terminal for lines: ncurses underneath, put back whatever ends us.
#pragma once

#include <chrono>
#include <memory>

#include "dataplane/base/result.h"
#include "harness/screen/lines.h"
#include "harness/screen/state.h"

namespace pathproof::screen {

class Terminal {
  public:
    // kBadInput, with what to do instead, when standard input or output is no terminal.
    static Status available();
    // Takes over standard input and output. kBadInput when they are no terminal, or when $TERM
    // names one that is not known. The terminal is put back by the destructor, and by signals
    // that end a process at once (SIGSEGV, SIGABRT, ...) before they do.
    static Result<std::unique_ptr<Terminal>> open();
    virtual ~Terminal() = default;

    virtual Size size() const = 0;
    virtual void draw(const Lines& lines) = 0;

    struct Input {
        enum class Kind {
            kNothing,  // the time is over, or a key without a meaning
            kKey,
            kResized,
            kClosed,  // nobody is there any more
        } kind = Kind::kNothing;
        Key key;
    };
    // Waits for a key at most this long.
    virtual Input read(std::chrono::milliseconds wait) = 0;
};

}  // namespace pathproof::screen
