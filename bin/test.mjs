// `npm test`, `npm run test:outside`, `npm run test:all`: the tests of some tiers after installing what is missing,
// and the true counts as last line.

import { installIfNeeded } from "./install.mjs"
import { printCounts, runTests, tiersOf } from "./suite.mjs"

await installIfNeeded()
const counts = await runTests(tiersOf(process.argv.slice(2)))
process.exitCode = printCounts(counts)
