// `npm run test:deep`: the suites that can go through many more cases than `npm test` has time for,
// after installing what is missing, and the true counts as last line. It takes minutes.

import { installIfNeeded } from "./install.mjs"
import { DEEP_SUITES, printCounts, runTests } from "./suite.mjs"

await installIfNeeded()
process.env["LEDGER_DEEP"] = "1"
process.exitCode = printCounts(await runTests([...DEEP_SUITES, ...process.argv.slice(2)]))
