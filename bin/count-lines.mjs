// `node bin/count-lines.mjs [--root DIR] [--json]`: counts the lines of code by part, after installing missing
// dependencies.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
process.exitCode = await runOnNode([
  join(ROOT, "test", "conventions", "count-lines.ts"),
  ...process.argv.slice(2),
])
