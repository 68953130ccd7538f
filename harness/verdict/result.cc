#include "harness/verdict/result.h"

namespace pathproof::verdict {

const char* name(CellVerdict verdict) {
    switch (verdict) {
        case CellVerdict::kPass:
            return "PASS";
        case CellVerdict::kFail:
            return "FAIL";
        case CellVerdict::kError:
            return "ERROR";
        case CellVerdict::kSkip:
            return "SKIP";
        case CellVerdict::kInconclusive:
            return "INCONCLUSIVE";
    }
    return "ERROR";
}

const char* name(ScenarioVerdict verdict) {
    switch (verdict) {
        case ScenarioVerdict::kReproduced:
            return "REPRODUCED";
        case ScenarioVerdict::kNotReproduced:
            return "NOT REPRODUCED";
        case ScenarioVerdict::kInconclusive:
            return "INCONCLUSIVE";
    }
    return "INCONCLUSIVE";
}

const char* name(RunVerdict verdict) {
    switch (verdict) {
        case RunVerdict::kQualified:
            return "QUALIFIED";
        case RunVerdict::kQualifiedWithExceptions:
            return "QUALIFIED WITH EXCEPTIONS";
        case RunVerdict::kNotQualified:
            return "NOT QUALIFIED";
        case RunVerdict::kIncomplete:
            return "INCOMPLETE";
    }
    return "INCOMPLETE";
}

int exit_code(RunVerdict verdict) {
    switch (verdict) {
        case RunVerdict::kQualified:
        case RunVerdict::kQualifiedWithExceptions:
            return 0;
        case RunVerdict::kNotQualified:
            return 1;
        case RunVerdict::kIncomplete:
            return 3;
    }
    return 3;
}

}  // namespace pathproof::verdict
