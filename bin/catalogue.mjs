// `node bin/catalogue.mjs`: regenerates src/catalogue.json after a command's texts have changed.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
process.exitCode = await runOnNode([join(ROOT, "src", "write-catalogue.ts")])
