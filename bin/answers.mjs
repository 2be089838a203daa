// `npm run answers`: sends every route's example request, and updates the answers in src/answers.json that have
// changed. The OpenAPI document shows them.

import { installIfNeeded } from "./install.mjs"
import { printCounts, runTests } from "./suite.mjs"

await installIfNeeded()
process.env["LEDGER_WRITE_ANSWERS"] = "1"
process.exitCode = printCounts(await runTests(["test/http/documents/shown-answers"]))
