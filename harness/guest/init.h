// The first process of a guest: mounts what programs expect, loads the modules of its image in their
// order, and becomes the parent of the agent, which speaks through the guest's virtio-serial port.
// What goes wrong is said on the console, and the guest goes off.
#pragma once

namespace pathproof::guest {

inline constexpr const char* kInit = "/init";
inline constexpr const char* kModuleFolder = "/modules";
inline constexpr const char* kModuleList = "/modules/list";  // a path a line
inline constexpr const char* kPortName = "org.pathproof.agent";

// Returns whether this process is the guest's first one, started as /init.
bool is_init(const char* program);
[[noreturn]] void run_init();

}  // namespace pathproof::guest
