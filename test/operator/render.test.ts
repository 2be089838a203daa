import { describe, expect, it } from "vitest"
import { progressLine } from "../../src/frame/operator/cli/progress.ts"
import { renderResult } from "../../src/frame/operator/cli/render.ts"
import { recordingTerminal } from "./fake-host.ts"

const PLAIN = { isTTY: false, columns: 80 }

const LIMITS = {
  limits: [
    { holder: "company", holderId: null, amountMicros: 5_000_000, resetsAt: "2026-12-01" },
    { holder: "key", holderId: "key_1", amountMicros: 9_000, resetsAt: "2026-12-01" },
  ],
}

describe("an answer for people", () => {
  it("is lines, with money in dollars to the micro", () => {
    const answer = {
      companyId: "co_1",
      balanceMicros: -12_500_001,
      locked: false,
      card: { verified: true },
      operations: ["a", "b"],
      remindersMicros: [1_000_000, 9_000],
      none: null,
      limit: null,
    }
    expect(renderResult(answer, PLAIN)).toBe(
      "company id: co_1\nbalance: -$12.500001\nlocked: no\ncard.verified: yes\n" +
        "operations: a, b\nreminders: $1.00, $0.009\nnone: -\nlimit: -\n",
    )
  })

  it("is a plain table where nobody watches", () => {
    expect(renderResult(LIMITS, PLAIN)).toBe(
      "holder   holder id  amount  resets at\n" +
        "company  -          $5.00   2026-12-01\n" +
        "key      key_1      $0.009  2026-12-01\n",
    )
  })

  it("is a framed table on a terminal, and blocks where that is too narrow", () => {
    const framed = renderResult(LIMITS, { isTTY: true, columns: 80 })
    expect(framed).toContain("│ company │ -")
    const blocks = renderResult(LIMITS, { isTTY: true, columns: 20 })
    expect(blocks).toContain("holder: key\nholder id: key_1\namount: $0.009\n")
  })

  it("says that a list is empty", () => {
    expect(renderResult({ limits: [] }, PLAIN)).toBe("No limits.\n")
  })

  it("cannot move the cursor", () => {
    const text = renderResult({ name: "a\u001b[2Jb\nc\u202ed" }, PLAIN)
    expect(text).toBe("name: a\\u{1b}[2Jb\\nc\\u{202e}d\n")
  })
})

describe("progress", () => {
  it("rewrites one line on a terminal and clears it", () => {
    const terminal = recordingTerminal({ errIsTTY: true, columns: 10 })
    const line = progressLine(terminal)
    line.report("one")
    line.report("a long message")
    line.end()
    line.end()
    const clear = "\r\u001b[2K"
    expect(terminal.stderr).toBe(`${clear}one${clear}a long me${clear}`)
    expect(terminal.stdout).toBe("")
  })

  it("is nothing where nobody watches", () => {
    const terminal = recordingTerminal({ isTTY: true })
    const line = progressLine(terminal)
    line.report("one")
    line.end()
    expect([terminal.stdout, terminal.stderr]).toEqual(["", ""])
  })
})
