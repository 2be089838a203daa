// `npm run bench -- <name>`: runs the benchmarks on the chosen Node, after installing missing dependencies.

import { join } from "node:path"
import { installIfNeeded, tryInstall } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

await installIfNeeded()
const code = await tryInstall(join(ROOT, "bench"))
if (code > 128) process.exit(code)
if (code !== 0) process.stderr.write("Measurements of other programs for comparison are skipped.\n")
process.exitCode = await runOnNode([join(ROOT, "bench", "main.ts"), ...process.argv.slice(2)])
