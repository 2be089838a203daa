#!/usr/bin/env node
// The command `company-ledger`: the program, on a Node that can run it.

import { runProgram } from "./program.mjs"

await runProgram(process.argv.slice(2))
