#include "harness/screen/terminal.h"

#define NCURSES_NOMACROS  // they would take the names of functions such as std::move
#include <fcntl.h>
#include <ncurses.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace pathproof::screen {
namespace {

constexpr std::array kFatal{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kEscapeDelayMs = 50;

// State for the handler of fatal signals: the terminal as it was, and how to leave its other
// screen.
termios terminal_before;
std::array<char, 128> leave_screen;
std::size_t leave_screen_bytes = 0;

// Only calls that are safe in a signal handler; SA_RESETHAND then lets the signal do its work.
void put_back_and_die(int signal_number) {
    [[maybe_unused]] const ssize_t written =
        write(STDOUT_FILENO, leave_screen.data(), leave_screen_bytes);
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
    raise(signal_number);
}

// Stores the terminal's own sequences to leave the screen; newterm() has just looked them up.
void remember_how_to_leave() {
    std::string text;
    for (std::string capability : {"cnorm", "sgr0", "rmcup", "rmkx"}) {
        const char* sequence = tigetstr(capability.data());
        if (sequence != nullptr && sequence != reinterpret_cast<const char*>(-1)) {
            text += sequence;
        }
    }
    leave_screen_bytes = text.copy(leave_screen.data(), leave_screen.size());
}

void catch_fatal_signals() {
    struct sigaction action {};
    action.sa_handler = put_back_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int signal_number : kFatal) {
        sigaction(signal_number, &action, nullptr);
    }
}

void let_fatal_signals_be() {
    for (const int signal_number : kFatal) {
        signal(signal_number, SIG_DFL);
    }
}

enum Pair : short { kGreen = 1, kYellow, kRed };

void prepare_colours() {
    if (!has_colors() || std::getenv("NO_COLOR") != nullptr) {
        return;
    }
    start_color();
    use_default_colors();
    init_pair(kGreen, COLOR_GREEN, -1);
    init_pair(kYellow, COLOR_YELLOW, -1);
    init_pair(kRed, COLOR_RED, -1);
}

// Each style can be told from the others without colour where that matters.
chtype attributes(Style style) {
    switch (style) {
        case Style::kPlain: return A_NORMAL;
        case Style::kStrong: return A_BOLD;
        case Style::kFaint: return A_DIM;
        case Style::kGood: return COLOR_PAIR(kGreen);
        case Style::kWarning: return COLOR_PAIR(kYellow) | A_BOLD;
        case Style::kBad: return COLOR_PAIR(kRed) | A_BOLD;
        case Style::kBar: return A_REVERSE;
    }
    return A_NORMAL;
}

std::optional<Key> key_of(int code) {
    using enum Key::Kind;
    switch (code) {
        case KEY_UP: return Key{kUp};
        case KEY_DOWN: return Key{kDown};
        case KEY_PPAGE: return Key{kPageUp};
        case KEY_NPAGE: return Key{kPageDown};
        case KEY_HOME: return Key{kHome};
        case KEY_ENTER:
        case '\n':
        case '\r': return Key{kEnter};
        case KEY_BACKSPACE:
        case 0x7f:
        case '\b': return Key{kBackspace};
        case 0x1b: return Key{kEscape};
        default: break;
    }
    if (code > 0 && code < 0x7f) {
        return Key{kCharacter, static_cast<char>(code)};
    }
    return std::nullopt;
}

bool hung_up() {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

class Curses final : public Terminal {
  public:
    // `output` is closed after it.
    using Output = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
    Curses(Output output, SCREEN* screen) : output_(std::move(output)), screen_(screen) {
        remember_how_to_leave();
        catch_fatal_signals();
        prepare_colours();
        set_escdelay(kEscapeDelayMs);
        cbreak();
        noecho();
        nonl();
        keypad(stdscr, TRUE);
        curs_set(0);
    }
    ~Curses() override {
        endwin();
        let_fatal_signals_be();
        delscreen(screen_);
    }

    Size size() const override {
        return {.columns = static_cast<std::size_t>(std::max(getmaxx(stdscr), 0)),
                .rows = static_cast<std::size_t>(std::max(getmaxy(stdscr), 0))};
    }

    void draw(const Lines& lines) override {
        erase();
        for (std::size_t row = 0; row < lines.size(); ++row) {
            move(static_cast<int>(row), 0);
            for (const Piece& piece : lines[row]) {
                attrset(static_cast<int>(attributes(piece.style)));
                addnstr(piece.text.data(), static_cast<int>(piece.text.size()));
            }
        }
        attrset(A_NORMAL);
        refresh();
    }

    Input read(std::chrono::milliseconds wait) override {
        timeout(static_cast<int>(wait.count()));
        const int code = getch();
        if (code == KEY_RESIZE) {
            return {.kind = Input::Kind::kResized, .key = {}};
        }
        if (code == ERR) {
            return {.kind = hung_up() ? Input::Kind::kClosed : Input::Kind::kNothing, .key = {}};
        }
        const auto key = key_of(code);
        return key ? Input{.kind = Input::Kind::kKey, .key = *key} : Input{};
    }

  private:
    const Output output_;
    SCREEN* const screen_;
};

}  // namespace

Status Terminal::available() {
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
        return fail(ErrorCode::kBadInput,
                    "'inspect top' needs a terminal on standard input and output; for a script "
                    "there is 'pathproof inspect stats --json'");
    }
    return {};
}

Result<std::unique_ptr<Terminal>> Terminal::open() {
    TRY(available());
    const char* kind = std::getenv("TERM");
    tcgetattr(STDIN_FILENO, &terminal_before);
    // Opens a stream of our own, because curses asks for its descriptor and stdout may be no file
    // (process/streams.h).
    Curses::Output output(fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w"), &std::fclose);
    // Not initscr(), which ends the process when $TERM is not known.
    SCREEN* const screen = newterm(nullptr, output.get(), stdin);
    if (screen == nullptr) {
        return fail(ErrorCode::kBadInput,
                    "the terminal TERM='{}' is not known here (terminfo); try TERM=xterm, or "
                    "'pathproof inspect stats --json'",
                    kind == nullptr ? "" : kind);
    }
    return std::make_unique<Curses>(std::move(output), screen);
}

}  // namespace pathproof::screen
