// `npm pack` runs this first: it builds the console's pages and the bundle, because Node strips no types of what lies
// below a `node_modules`.

import { buildBundleIfNeeded } from "./bundle.mjs"
import { buildConsoleIfNeeded } from "./console.mjs"
import { installIfNeeded } from "./install.mjs"

await installIfNeeded()
const built = await buildConsoleIfNeeded()
if (built !== 0) process.exit(built)
await buildBundleIfNeeded()
