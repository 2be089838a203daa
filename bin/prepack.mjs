// `npm pack` runs this first: it builds the console's pages and the bundle, because Node does not strip types below a
// `node_modules` folder.

import { buildBundleIfNeeded } from "./bundle.mjs"
import { buildConsoleIfNeeded } from "./console.mjs"
import { installIfNeeded } from "./install.mjs"

await installIfNeeded()
const built = await buildConsoleIfNeeded()
if (built !== 0) process.exit(built)
await buildBundleIfNeeded()
