// `npm run build:console`: builds the console's pages if they are missing or older than their sources.

import { buildConsoleIfNeeded } from "./console.mjs"

process.exitCode = await buildConsoleIfNeeded()
