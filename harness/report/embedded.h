// Files of this folder that are built into the binary, so that it needs none of them at run time.
#pragma once

namespace pathproof::report {

extern const char* const kSchemaText;  // report.schema.json
extern const char* const kPageFrame;   // page/bundle/page.html
extern const char* const kPageData;    // page/bundle/data.html

}  // namespace pathproof::report
