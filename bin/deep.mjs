// `npm run test:deep`: runs the suites that have many more cases than `npm test` has time for, after installing missing
// dependencies. The last line has the counts. It takes minutes.

import { installIfNeeded } from "./install.mjs"
import { DEEP_SUITES, printCounts, runTests } from "./suite.mjs"

await installIfNeeded()
process.env["LEDGER_DEEP"] = "1"
process.exitCode = printCounts(await runTests([...DEEP_SUITES, ...process.argv.slice(2)]))
