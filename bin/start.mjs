// `npm start`: the server in a checkout, after installing what is missing, building the console's pages and bundling
// the program.

import { tryBuildBundle } from "./bundle.mjs"
import { buildConsoleIfNeeded } from "./console.mjs"
import { installIfNeeded } from "./install.mjs"
import { runProgram } from "./program.mjs"

await installIfNeeded()
const code = await buildConsoleIfNeeded()
if (code > 128) process.exit(code)
// The API and the command line do all that the pages do.
if (code !== 0) process.stderr.write("The console has no pages until they are built.\n")
await tryBuildBundle()
await runProgram(["start", ...process.argv.slice(2)])
