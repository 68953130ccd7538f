// Files of this folder that are built into the binary, so that it needs none of them at run time.
#pragma once

namespace pathproof::report {

extern const char* const kSchemaText;  // report.schema.json
extern const char* const kPageStyle;   // page.css

}  // namespace pathproof::report
