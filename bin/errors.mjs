// `node bin/errors.mjs`: regenerates docs/errors.md after a message of the API has changed.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
process.exitCode = await runOnNode([join(ROOT, "test", "conventions", "write-errors.ts")])
