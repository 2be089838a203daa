// `npm run console:pictures -- FOLDER`: takes a picture of every console page: wide and narrow, light and dark.

import { join } from "node:path"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
const script = join(ROOT, "test", "console", "screenshots.ts")
process.exitCode = await runOnNode([script, ...process.argv.slice(2)])
