// `npm run mutate`: runs mutation tests of the ledger's core, after installing missing dependencies. Arguments go to
// Stryker, such as `--force` or `--mutate domain/charging/limits.ts`.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
const stryker = join(ROOT, "node_modules", "@stryker-mutator", "core", "bin", "stryker.js")
const config = join("test", "mutation", "stryker-config.mjs")
process.exitCode = await runOnNode([stryker, "run", config, ...process.argv.slice(2)], {
  cwd: ROOT,
})
