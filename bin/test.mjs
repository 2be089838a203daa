// `npm test`, `npm run test:outside`, `npm run test:all`: run the tests of some tiers, after installing missing
// dependencies. The last line has the counts.

import { installIfNeeded } from "./install.mjs"
import { printCounts, runTests, vitestArguments } from "./suite.mjs"

await installIfNeeded()
const counts = await runTests(vitestArguments(process.argv.slice(2)))
process.exitCode = printCounts(counts)
