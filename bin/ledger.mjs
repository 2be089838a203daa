#!/usr/bin/env node
// `npm run ledger -- <command>`: the command line in a checkout, after installing what is missing.

import { installIfNeeded } from "./install.mjs"
import { runProgram } from "./program.mjs"

await installIfNeeded()
await runProgram(process.argv.slice(2))
