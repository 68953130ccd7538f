// Steps of any guest's first process. A step that fails is reported on the console, and the guest
// powers off.
#pragma once

#include <sys/types.h>

#include <string>

namespace pathproof::guest {

void say(const std::string& sentence);  // on the console
[[noreturn]] void go_off(const std::string& why);
void mount_or_off(const std::string& what, const std::string& place, const char* type,
                  unsigned long flags = 0, const std::string& options = "");
void load_module(const std::string& path);
void raise_link(const std::string& device);  // one that does not come up is told of, and no more
// As the parent of all: takes off whoever ends, until this one does. Gives its status as wait(2) does.
int wait_for(pid_t child);
// "/dev/vport1p1", the port of that name.
std::string port_named(const char* name);

}  // namespace pathproof::guest
