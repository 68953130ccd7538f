#include "harness/process/uuid.h"

#include "dataplane/base/file.h"

namespace pathproof::process {

std::string new_uuid() {
    return first_word("/proc/sys/kernel/random/uuid");
}

}  // namespace pathproof::process
