import type { Case } from "./import-cases.ts"

/** What the console may import, and what not. */
export const CONSOLE_CASES: readonly Case[] = [
  {
    rule: "src-console-decides-nothing",
    wrong: {
      "src/console/a.ts": 'import "../../domain/charging/b.ts"',
      "domain/charging/b.ts": "",
    },
    right: {
      "src/console/a.ts": 'import "../../domain/kernel/ids.ts"',
      "domain/kernel/ids.ts": "",
    },
  },
  {
    rule: "src-console-decides-nothing",
    wrong: { "src/console/a.ts": 'import "kysely"' },
    right: { "src/charging/a.ts": 'import "kysely"' },
  },
  {
    rule: "console-apart",
    wrong: { "console/a.ts": 'import "../domain/kernel/b.ts"', "domain/kernel/b.ts": "" },
    right: { "console/a.ts": 'import "./parts/b.ts"', "console/parts/b.ts": "" },
  },
  {
    rule: "not-to-console",
    wrong: { "src/console/a.ts": 'import "../../console/b.ts"', "console/b.ts": "" },
    right: { "console/a.ts": 'import "./b.ts"', "console/b.ts": "" },
  },
]
