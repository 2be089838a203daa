// `node bin/warm-files.mjs [PATH] [--list]`: how many source files have a function that one warm request runs
// (default GET /api/v1/phone/optins), after installing what is missing.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
process.exitCode = await runOnNode([
  join(ROOT, "test", "conventions", "warm-files.ts"),
  ...process.argv.slice(2),
])
