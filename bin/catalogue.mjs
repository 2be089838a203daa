// `node bin/catalogue.mjs`: writes src/catalogue.json anew, after a command's words have changed.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
process.exitCode = await runOnNode([join(ROOT, "src", "write-catalogue.ts")])
