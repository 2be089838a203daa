/** Writes `docs/errors.md`: `node bin/errors.mjs`, after a message of the API has changed. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readErrorSource } from "./error-messages.ts"
import { formatErrorPage } from "./error-page.ts"
import { ROOT } from "./source-tree.ts"

writeFileSync(join(ROOT, "docs", "errors.md"), formatErrorPage(readErrorSource()))
