// `npm run load -- --for 1m`: calls a running server on the chosen Node, after installing what is missing.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
process.exitCode = await runOnNode([
  join(ROOT, "bench", "load", "main.ts"),
  ...process.argv.slice(2),
])
