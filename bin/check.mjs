// `npm run check`: all checks before a commit, the quick ones first.

import { existsSync } from "node:fs"
import { join } from "node:path"
import { installIfNeeded, tryInstall } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"
import { printCounts, runTests, vitestArguments } from "./suite.mjs"

/** The folders that the import rules cover. */
const PROJECT_FOLDERS = ["domain", "projections", "adapters", "src", "test", "bench", "console"]

const steps = [
  { name: "types", args: ["typescript/bin/tsc", "-p", "."] },
  { name: "domain types", args: ["typescript/bin/tsc", "-p", "domain"] },
  { name: "console types", args: ["typescript/bin/tsc", "-p", "console"] },
  { name: "lint", args: ["oxlint/bin/oxlint", "--deny-warnings"] },
  { name: "format", args: ["prettier/bin/prettier.cjs", "--check", "--log-level=warn", "."] },
  {
    name: "import rules",
    args: [
      "dependency-cruiser/bin/dependency-cruiser.mjs",
      "--config=.dependency-cruiser.cjs",
      ...PROJECT_FOLDERS.filter((room) => existsSync(join(ROOT, room))),
    ],
  },
  { name: "dead code", args: ["knip/bin/knip.js"] },
]

await installIfNeeded()
// The console is checked with its own packages.
const installed = await tryInstall(join(ROOT, "console"))
if (installed !== 0) process.exit(installed)
for (const { name, args } of steps) {
  process.stdout.write(`\n== ${name}\n`)
  const [script = "", ...rest] = args
  const code = await runOnNode([join(ROOT, "node_modules", script), ...rest], { cwd: ROOT })
  if (code !== 0) {
    process.stdout.write(`\nStopped at ${name}: the tests were not run.\n`)
    process.exit(1)
  }
}
process.stdout.write("\n== tests\n")
process.exitCode = printCounts(await runTests(vitestArguments(process.argv.slice(2))))
