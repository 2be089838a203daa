#!/usr/bin/env node
// The command `company-ledger`: runs the program on a suitable Node.

import { runProgram } from "./program.mjs"

await runProgram(process.argv.slice(2))
