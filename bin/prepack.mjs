// `npm pack` runs this first: it builds the console's pages and writes the program as JavaScript into `dist/`,
// because Node strips no types of what lies below a `node_modules`.

import { join } from "node:path"
import { buildConsoleIfNeeded } from "./console.mjs"
import { installIfNeeded, withLock } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
const built = await buildConsoleIfNeeded()
if (built !== 0) process.exit(built)
const script = join(ROOT, "bin", "write-javascript.mjs")
// Two that pack at once would each take away what the other wrote.
process.exitCode = await withLock(join(ROOT, ".build-lock"), () => runOnNode([script]))
