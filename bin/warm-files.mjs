// `node bin/warm-files.mjs [PATH] [--list]`: counts the source files of which one warm request runs a function
// (default GET /api/v1/phone/optins), after installing missing dependencies.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
process.exitCode = await runOnNode([
  join(ROOT, "test", "conventions", "warm-files.ts"),
  ...process.argv.slice(2),
])
