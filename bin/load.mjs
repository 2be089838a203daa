// `npm run load -- --for 1m`: sends load to a running server, after installing missing dependencies.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
process.exitCode = await runOnNode([
  join(ROOT, "bench", "load", "main.ts"),
  ...process.argv.slice(2),
])
