// `npm run answers`: asks every route as its example shows, and writes those answers into
// src/answers.json that are no longer shown as they are. The document shows them.

import { installIfNeeded } from "./install.mjs"
import { printCounts, runTests } from "./suite.mjs"

await installIfNeeded()
process.env["LEDGER_WRITE_ANSWERS"] = "1"
process.exitCode = printCounts(await runTests(["test/http/documents/shown-answers"]))
