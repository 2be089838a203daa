// `npm start`: runs the server in a checkout, after installing missing dependencies and building the console's pages
// and the bundle.

import { tryBuildBundle } from "./bundle.mjs"
import { buildConsoleIfNeeded } from "./console.mjs"
import { installIfNeeded } from "./install.mjs"
import { runProgram } from "./program.mjs"

await installIfNeeded()
const code = await buildConsoleIfNeeded()
if (code > 128) process.exit(code)
// The API and the command line work without the pages.
if (code !== 0)
  process.stderr.write("The console's pages could not be built; the API is served without them.\n")
await tryBuildBundle()
await runProgram(["start", ...process.argv.slice(2)])
