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
]
