// `npm start`: the server in a checkout, after installing what is missing.

import { installIfNeeded } from "./install.mjs"
import { runProgram } from "./node.mjs"

await installIfNeeded()
await runProgram(["start", ...process.argv.slice(2)])
