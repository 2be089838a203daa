// `npm test`: the whole suite after installing what is missing, and the true counts as last line.

import { installIfNeeded } from "./install.mjs"
import { printCounts, runTests } from "./suite.mjs"

await installIfNeeded()
const counts = await runTests(process.argv.slice(2))
process.exitCode = printCounts(counts)
