#!/usr/bin/env node
// `npm run ledger -- <command>`: runs the command line in a checkout, after installing missing dependencies.

import { installIfNeeded } from "./install.mjs"
import { runProgram } from "./program.mjs"

await installIfNeeded()
await runProgram(process.argv.slice(2))
