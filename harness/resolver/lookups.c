/* Names looked up by the C library's own getaddrinfo(3), each in a process that has never looked one up
 * before, with a resolv.conf of its own. C, for it is compiled for another C library too.
 *
 *     pathproof-lookups PER_SECOND [PROGRAM]
 *
 * reads lookups from standard input until its end, a line each and behind it the bytes of its resolv.conf:
 *
 *     FAMILY ADDRCONFIG LIMIT_MS BYTES NAME        FAMILY 0, 4 or 6; ADDRCONFIG 0 or 1
 *
 * begins PER_SECOND of them a second, whatever becomes of those before, and writes a line for each that
 * ended, in that order:
 *
 *     INDEX OUTCOME MICROSECONDS ADDRESS... [+N]   OUTCOME: ok, EAI_NONAME, ..., killed (at its limit);
 *                                                  +N: so many more addresses than the line holds
 *     INDEX error WORDS                            the lookup could not be made
 *
 * PROGRAM INDEX FAMILY NAME looks the name up in the place of this C library, and writes that line to its
 * standard output. It must be allowed to mount. */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_NAME 300
#define MOST_CONF 65536
#define MOST_LOOKUPS 100000
/* A pipe takes so much at once from each of many writers (PIPE_BUF of POSIX is 512 at least). */
#define MOST_LINE 500

struct lookup {
    int family;
    int addrconfig;
    long limit_ms;
    char name[MOST_NAME];
    char* conf;
    size_t conf_bytes;
    pid_t pid; /* 0: not begun; -1: ended */
    long long killed_at_us;
};

static long long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static const char* outcome_name(int code) {
    switch (code) {
        case 0: return "ok";
        case EAI_NONAME: return "EAI_NONAME";
        case EAI_AGAIN: return "EAI_AGAIN";
        case EAI_FAIL: return "EAI_FAIL";
        case EAI_FAMILY: return "EAI_FAMILY";
        case EAI_MEMORY: return "EAI_MEMORY";
        case EAI_SYSTEM: return "EAI_SYSTEM";
#ifdef EAI_NODATA
        case EAI_NODATA: return "EAI_NODATA";
#endif
#ifdef EAI_ADDRFAMILY
        case EAI_ADDRFAMILY: return "EAI_ADDRFAMILY";
#endif
        default: return "EAI_other";
    }
}

static void say(int out, const char* line, int length) {
    if (length > 0) {
        (void)!write(out, line, (size_t)(length < MOST_LINE ? length : MOST_LINE));
    }
}

static _Noreturn void cannot(int out, size_t index, const char* what, const char* path) {
    char line[MOST_LINE];
    say(out, line,
        snprintf(line, sizeof line, "%zu error %s %s: %s\n", index, what, path, strerror(errno)));
    _exit(1);
}

static int put_file(const char* path, const char* bytes, size_t count) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const int failed = file < 0 || write(file, bytes, count) != (ssize_t)count;
    if (file >= 0) {
        close(file);
    }
    return failed ? -1 : 0;
}

/* Whatever is mounted here nobody else sees, and it goes with this process. */
static void take_own_files(const struct lookup* lookup, int out, size_t index) {
    static const char hosts[] = "127.0.0.1 localhost\n";
    static const char services[] = "hosts: files dns\n";
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        cannot(out, index, "no mount namespace of its own can be had:", "/");
    }
    if (mount("none", "/tmp", "tmpfs", 0, "mode=0755") != 0 ||
        put_file("/tmp/resolv.conf", lookup->conf, lookup->conf_bytes) != 0 ||
        put_file("/tmp/hosts", hosts, sizeof hosts - 1) != 0 ||
        put_file("/tmp/nsswitch.conf", services, sizeof services - 1) != 0) {
        cannot(out, index, "no files of its own can be had in", "/tmp");
    }
    if (mount("/tmp/resolv.conf", "/etc/resolv.conf", NULL, MS_BIND, NULL) != 0) {
        cannot(out, index,
               "in a mount namespace of its own this file cannot be replaced (there must be one):",
               "/etc/resolv.conf");
    }
    /* Without them the C library takes what we would say. */
    static const char* const others[][2] = {{"/tmp/hosts", "/etc/hosts"},
                                            {"/tmp/nsswitch.conf", "/etc/nsswitch.conf"}};
    for (int i = 0; i < 2; ++i) {
        if (mount(others[i][0], others[i][1], NULL, MS_BIND, NULL) != 0 && errno != ENOENT) {
            cannot(
                out, index,
                "in a mount namespace of its own this file cannot be replaced (there must be one):",
                others[i][1]);
        }
    }
    /* A cache in between (nscd) would answer in the place of the resolver. */
    if (mount("none", "/var/run/nscd", "tmpfs", 0, NULL) != 0 && errno != ENOENT) {
        cannot(out, index, "this folder cannot be hidden:", "/var/run/nscd");
    }
}

static _Noreturn void become(const char* program, const struct lookup* lookup, int out,
                             size_t index) {
    char number[24];
    char family[12];
    snprintf(number, sizeof number, "%zu", index);
    snprintf(family, sizeof family, "%d", lookup->family);
    if (dup2(out, STDOUT_FILENO) >= 0) {
        execl(program, program, number, family, lookup->name, (char*)NULL);
    }
    cannot(out, index, "this program cannot be run:", program);
}

static int address_family(const struct lookup* lookup) {
    switch (lookup->family) {
        case 4: return AF_INET;
        case 6: return AF_INET6;
        default: return AF_UNSPEC;
    }
}

static _Noreturn void look_up(const struct lookup* lookup, const char* program, int out,
                              size_t index) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_own_files(lookup, out, index);
    /* What else would change a resolver: resolv.conf(5), hostname(7). */
    unsetenv("RES_OPTIONS");
    unsetenv("LOCALDOMAIN");
    unsetenv("HOSTALIASES");
    if (program != NULL) {
        become(program, lookup, out, index);
    }
    struct addrinfo hints;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM; /* one result an address */
    hints.ai_family = address_family(lookup);
    hints.ai_flags = lookup->addrconfig ? AI_ADDRCONFIG : 0;
    struct addrinfo* found = NULL;
    const long long began = now_us();
    const int code = getaddrinfo(lookup->name, NULL, &hints, &found);
    const long long took = now_us() - began;
    char line[MOST_LINE];
    int length = snprintf(line, sizeof line, "%zu %s %lld", index, outcome_name(code), took);
    int more = 0;
    enum { MORE_TEXT = sizeof " +2147483647" };
    for (struct addrinfo* each = code == 0 ? found : NULL; each != NULL; each = each->ai_next) {
        const void* const address =
            each->ai_family == AF_INET
                ? (const void*)&((const struct sockaddr_in*)each->ai_addr)->sin_addr
                : (const void*)&((const struct sockaddr_in6*)each->ai_addr)->sin6_addr;
        char text[INET6_ADDRSTRLEN];
        if (inet_ntop(each->ai_family, address, text, sizeof text) == NULL) {
            continue;
        }
        if (length + (int)sizeof text + MORE_TEXT + 2 < MOST_LINE) {
            length += snprintf(line + length, sizeof line - (size_t)length, " %s", text);
        } else {
            ++more;
        }
    }
    if (more != 0) {
        length += snprintf(line + length, sizeof line - (size_t)length, " +%d", more);
    }
    line[length++] = '\n';
    say(out, line, length);
    _exit(0);
}

static int read_lookup(struct lookup* lookup) {
    size_t name_bytes;
    memset(lookup, 0, sizeof *lookup);
    const int fields = scanf("%d %d %ld %zu %299s", &lookup->family, &lookup->addrconfig,
                             &lookup->limit_ms, &lookup->conf_bytes, lookup->name);
    if (fields == EOF) {
        return 0;
    }
    name_bytes = fields == 5 ? strlen(lookup->name) : 0;
    if (name_bytes == 0 || name_bytes == MOST_NAME - 1 || lookup->conf_bytes > MOST_CONF ||
        lookup->limit_ms <= 0 || getchar() != '\n') {
        return -1;
    }
    lookup->conf = malloc(lookup->conf_bytes + 1);
    return lookup->conf != NULL &&
                   fread(lookup->conf, 1, lookup->conf_bytes, stdin) == lookup->conf_bytes
               ? 1
               : -1;
}

/* Ends those whose time is over. */
static void kill_late(struct lookup* lookups, size_t begun) {
    const long long now = now_us();
    for (size_t i = 0; i < begun; ++i) {
        if (lookups[i].pid > 0 && now >= lookups[i].killed_at_us) {
            kill(lookups[i].pid, SIGKILL);
        }
    }
}

/* Takes off those that ended; gives their number. */
static size_t reap_ended(struct lookup* lookups, size_t begun) {
    size_t ended = 0;
    int state;
    for (pid_t pid; (pid = waitpid(-1, &state, WNOHANG)) > 0;) {
        for (size_t i = 0; i < begun; ++i) {
            if (lookups[i].pid == pid) {
                lookups[i].pid = -1;
                ++ended;
                if (WIFSIGNALED(state)) {
                    printf("%zu %s %lld\n", i,
                           WTERMSIG(state) == SIGKILL ? "killed" : "error it crashed",
                           (long long)lookups[i].limit_ms * 1000);
                }
            }
        }
    }
    return ended;
}

static int answer_lookups(unsigned per_second, const char* program) {
    struct lookup* lookups = NULL;
    size_t count = 0;
    for (int got;;) {
        if (count % 64 == 0) {
            struct lookup* const more = realloc(lookups, (count + 64) * sizeof *lookups);
            if (more == NULL || count >= MOST_LOOKUPS) {
                fprintf(stderr, "lookups: too many\n");
                return 2;
            }
            lookups = more;
        }
        got = read_lookup(&lookups[count]);
        if (got == 0) {
            break;
        }
        if (got < 0) {
            fprintf(stderr, "lookups: what stands in the place of lookup %zu is none\n", count);
            return 2;
        }
        ++count;
    }
    int lines[2];
    if (per_second == 0 || pipe2(lines, O_CLOEXEC) != 0 ||
        fcntl(lines[0], F_SETFL, O_NONBLOCK) != 0) {
        fprintf(stderr, "lookups: %s\n", per_second == 0 ? "no rate" : strerror(errno));
        return 2;
    }
    size_t begun = 0;
    size_t ended = 0;
    const long long start = now_us();
    while (ended < count) {
        while (begun < count && now_us() >= start + (long long)(begun * 1000000 / per_second)) {
            struct lookup* const next = &lookups[begun];
            fflush(stdout);
            next->killed_at_us = now_us() + next->limit_ms * 1000LL;
            next->pid = fork();
            if (next->pid == 0) {
                look_up(next, program, lines[1], begun);
            }
            if (next->pid < 0) {
                printf("%zu error no process can be had for it: %s\n", begun, strerror(errno));
                ++ended;
            }
            ++begun;
        }
        struct pollfd ready = {.fd = lines[0], .events = POLLIN};
        poll(&ready, 1, begun < count ? 1 : 20);
        ended += reap_ended(lookups, begun);
        char text[4096];
        for (ssize_t got; (got = read(lines[0], text, sizeof text)) > 0;) {
            fwrite(text, 1, (size_t)got, stdout);
        }
        kill_late(lookups, begun);
    }
    return 0;
}

int main(int count, char** words) {
    return answer_lookups(count == 2 || count == 3 ? (unsigned)strtoul(words[1], NULL, 10) : 0,
                          count == 3 ? words[2] : NULL);
}
