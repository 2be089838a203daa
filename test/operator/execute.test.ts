/** Running commands: output, refusals, interruption and progress. */
import { describe, expect, it } from "vitest"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { OperatorRefused, type AdminContext } from "../../src/frame/operator/operation.ts"
import { PROGRAM } from "../../src/slices.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner.ts"
import { runCommandLine } from "../../src/frame/operator/cli/run-command-line.ts"
import {
  fakeHost,
  fakeOperation,
  PORT_SETTING,
  recordingTerminal,
  runTestCommand,
  splitWords,
} from "./fake-host.ts"
import { openProgressLine } from "../../src/frame/operator/cli/terminal.ts"
import { renderResult } from "../../src/frame/operator/cli/render.ts"

const refusing = (error: Error) =>
  fakeOperation("company list", async () => {
    throw error
  })

class StartupFault extends Error {
  override readonly name = "StartupFault"
}

describe("a successful command", () => {
  const operations = [
    fakeOperation("company show", async (_, input) => ({ input, balanceMicros: 12_500_000 })),
  ]

  it("prints the result as one JSON document and closes the stores", async () => {
    const host = fakeHost(operations)
    const ran = await runTestCommand(splitWords("company show acme --json"), host)
    expect(ran).toEqual({
      code: 0,
      stdout: '{"input":{"company":"acme"},"balanceMicros":12500000}\n',
      stderr: "",
    })
    expect(host.calls).toEqual(["open", "close"])
  })

  it("prints text lines, with money in dollars", async () => {
    const ran = await runTestCommand(splitWords("company show acme"), fakeHost(operations))
    expect(ran).toEqual({
      code: 0,
      stdout: "input.company: acme\nbalance: $12.50\n",
      stderr: "",
    })
  })

  it("writes progress to standard error", async () => {
    const slow = fakeOperation("wait", async ({ progress }) => {
      progress("half way")
      return { position: "a1" }
    })
    const terminal = recordingTerminal({ errIsTTY: true })
    const { signal } = new AbortController()
    const code = await runCommandLine(["wait", "--json"], fakeHost([slow]), terminal, signal)
    expect([code, terminal.stdout]).toEqual([0, '{"position":"a1"}\n'])
    expect(terminal.stderr).toContain("half way")
  })

  it("records the actor and the reason; the actor is the system user by default", async () => {
    const causes: AdminContext["cause"][] = []
    const locking = fakeOperation("company lock", async ({ cause }) => void causes.push(cause))
    const host = fakeHost([locking])
    await runTestCommand(splitWords("company lock acme --as ada --reason asked"), host)
    await runTestCommand(splitWords("company lock acme"), host)
    expect(causes).toEqual([
      expect.objectContaining({ actor: "ada", reason: "asked", keyId: null, personId: null }),
      expect.objectContaining({ actor: expect.stringMatching(/./), reason: null }),
    ])
    expect(causes[0]?.command).toMatch(/^cmd_/)
    expect(causes[0]?.command).not.toBe(causes[1]?.command)
  })

  it("prints a new key once, on its own line", async () => {
    const made = { keyId: "key_1", key: "sk_secret", companyId: "co_1", appSecret: "as_secret" }
    const creating = fakeOperation("key create", async () => made)
    const words = splitWords("key create --company acme --app --all-operations")
    const { stdout } = await runTestCommand(words, fakeHost([creating]))
    expect(stdout.split("\n")).toContain("sk_secret")
    expect(stdout.split("\n")).toContain("as_secret")
    expect(stdout).toContain("shown only now")
    const json = await runTestCommand([...words, "--json"], fakeHost([creating]))
    expect(JSON.parse(json.stdout)).toEqual(made)
  })

  it.each(["audit verify", "projections verify"])("%s exits 1 if a check fails", async (name) => {
    const answers = [true, false].map((ok) => ({
      ok,
      checks: [{ name: "chain", ok, detail: "here" }],
      firstBroken: null,
      foreignStreams: { streams: 0, events: 0, byName: {} },
      skipped: [],
      projections: [{ name: "charges", same: ok, tables: [] }],
      streams: 2,
      events: 9,
    }))
    for (const answer of answers) {
      const host = fakeHost([fakeOperation(name, async () => answer)])
      const json = await runTestCommand([...splitWords(name), "--json"], host)
      expect(json.code).toBe(answer.ok ? 0 : 1)
      expect(JSON.parse(json.stdout)).toEqual(answer)
      const text = await runTestCommand(splitWords(name), host)
      expect(text.stdout).toMatch(
        answer.ok ? /Everything is valid|ok: yes/ : /A check failed|ok: no/,
      )
    }
  })
})

describe("a rejected command", () => {
  it.each([
    [new OperatorRefused("not_found", "There is no company x."), "not_found", /^There is no/],
    [new RangeError("no such read model"), "validation", /^no such read model$/],
    [new Unavailable("connection lost"), "unavailable", /nothing was stored.*connection lost/],
    [new OutcomeUnknown("timed out"), "unavailable", /^It is not known whether.*timed out/],
  ])("exits 1 with an error code and a message: %s", async (error, code, message) => {
    const host = fakeHost([refusing(error)])
    const json = await runTestCommand(["company", "list", "--json"], host)
    expect(json).toMatchObject({ code: 1, stderr: "" })
    const body = JSON.parse(json.stdout) as Record<string, string>
    expect(Object.keys(body)).toEqual(["error", "message"])
    expect(body["error"]).toBe(code)
    expect(body["message"]).toMatch(message)
    const text = await runTestCommand(["company", "list"], host)
    expect(text).toEqual({ code: 1, stdout: "", stderr: `${body["message"]}\n` })
    expect(host.calls).toEqual(["open", "close", "open", "close"])
  })

  it("names the invalid fields", async () => {
    const words = splitWords("company create co_1 --owner-email nonsense --json")
    const ran = await runTestCommand(words, fakeHost(PROGRAM.operations))
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({
      error: "validation",
      fields: {
        name: expect.stringContaining("does not begin with co_"),
        ownerEmail: expect.stringContaining("email"),
      },
    })
  })

  it("reports an unknown operation", async () => {
    const ran = await runTestCommand(["wait", "--json"], fakeHost([]))
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: "unknown_operation" })
  })

  it("prints a startup fault as its message, without a stack trace", async () => {
    const openInProcess = async () => {
      throw new StartupFault("Port 3000 is in use. Set PORT to another port.")
    }
    const ran = await runTestCommand(["wait"], fakeHost([], { openInProcess }))
    expect(ran).toEqual({
      code: 1,
      stdout: "",
      stderr: "Port 3000 is in use. Set PORT to another port.\n",
    })
    const json = await runTestCommand(["wait", "--json"], fakeHost([], { openInProcess }))
    expect(JSON.parse(json.stdout)).toMatchObject({ error: "startup" })
  })

  it("prints the stack trace of a fault of the program", async () => {
    const host = fakeHost([refusing(new TypeError("x is undefined"))])
    const ran = await runTestCommand(["company", "list", "--json"], host)
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toEqual({ error: "internal", message: "x is undefined" })
    expect(ran.stderr).toContain("execute.test.ts")
    expect(host.calls).toEqual(["open", "close"])
  })
})

describe("an interrupted command", () => {
  it("stops waiting, closes the stores and exits 130", async () => {
    const abort = new AbortController()
    const endless = fakeOperation("wait", async () => {
      abort.abort()
      return Promise.withResolvers<never>().promise
    })
    const host = fakeHost([endless])
    const ran = await runTestCommand(["wait", "--json"], host, abort.signal)
    expect(ran.code).toBe(130)
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: "interrupted" })
    expect(host.calls).toEqual(["open", "close"])
  })

  it("warns that a change may have taken effect", async () => {
    const abort = new AbortController()
    const locking = fakeOperation("company lock", async () => {
      abort.abort()
      return Promise.withResolvers<never>().promise
    })
    const ran = await runTestCommand(["company", "lock", "acme"], fakeHost([locking]), abort.signal)
    expect(ran).toMatchObject({ code: 130, stderr: expect.stringContaining("Check whether") })
  })

  it("runs nothing if it is interrupted while the stores open", async () => {
    const abort = new AbortController()
    const calls: string[] = []
    const operations = [fakeOperation("wait", async () => void calls.push("run"))]
    const openInProcess = async () => {
      abort.abort()
      const stores = await fakeHost(operations).openInProcess({ mayMake: false })
      return { ...stores, close: async () => void calls.push("close") }
    }
    const ran = await runTestCommand(["wait"], fakeHost([], { openInProcess }), abort.signal)
    expect(ran.code).toBe(130)
    expect(calls).toEqual(["close"])
  })

  it.each(["openInProcess", "runMaintenance", "runDoctor", "runBenchmarks"] as const)(
    "gives up waiting for a host call that does not end: %s",
    async (does) => {
      const abort = new AbortController()
      const endless = async () => {
        abort.abort()
        return Promise.withResolvers<never>().promise
      }
      const line = {
        openInProcess: "wait",
        runMaintenance: "restore x",
        runDoctor: "doctor",
        runBenchmarks: "bench",
      }[does]
      const ran = await runTestCommand(
        splitWords(line),
        fakeHost([], { [does]: endless }),
        abort.signal,
        0,
      )
      expect(ran).toMatchObject({
        code: 130,
        stdout: "",
        stderr: expect.stringMatching(/^Interrupted/),
      })
    },
  )
})

describe("a command of the host", () => {
  it("start runs the host's server and exits with its code", async () => {
    const host = fakeHost([])
    expect((await runTestCommand(["start"], host)).code).toBe(7)
    expect((await runTestCommand(["start", "--demo"], host)).code).toBe(7)
    expect(host.calls).toEqual(["start", "start with demo"])
  })

  it("config shows the settings", async () => {
    const text = await runTestCommand(["config"], fakeHost([]))
    expect(text.stdout).toBe("name  value  source\nPORT  3000   default\n")
    const json = await runTestCommand(["config", "--json"], fakeHost([]))
    expect(JSON.parse(json.stdout)).toEqual({
      settings: [PORT_SETTING],
    })
  })

  it("config shows the running server's values next to the command's", async () => {
    const server = [{ ...PORT_SETTING, value: "4000", source: "environment" as const }]
    const other = { ...PORT_SETTING, name: "HOST" }
    const host = fakeHost([], {
      effectiveSettings: async () => ({ own: [PORT_SETTING, other], server }),
    })
    const text = await runTestCommand(["config"], host)
    expect(text.stdout).toBe(
      "name  value  source   server\nPORT  3000   default  4000\nHOST  3000   default  -\n",
    )
    const json = await runTestCommand(["config", "--json"], host)
    expect(JSON.parse(json.stdout).settings).toEqual([
      { ...PORT_SETTING, server: "4000" },
      { ...other, server: null },
    ])
  })
})

const PLAIN = { isTTY: false, columns: 80 }
const LIMITS = {
  limits: [
    { holder: "company", holderId: null, amountMicros: 5_000_000, resetsAt: "2026-12-01" },
    { holder: "key", holderId: "key_1", amountMicros: 9_000, resetsAt: "2026-12-01" },
  ],
}

describe("the text output", () => {
  it("is lines, with money in dollars down to the micro-dollar", () => {
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

  it("is a plain table without a terminal", () => {
    expect(renderResult(LIMITS, PLAIN)).toBe(
      "holder   holder id  amount  resets at\n" +
        "company  -          $5.00   2026-12-01\n" +
        "key      key_1      $0.009  2026-12-01\n",
    )
  })

  it("is a framed table on a terminal, and blocks on a narrow one", () => {
    const framed = renderResult(LIMITS, { isTTY: true, columns: 80 })
    expect(framed).toContain("│ company │ -")
    const blocks = renderResult(LIMITS, { isTTY: true, columns: 20 })
    expect(blocks).toContain("holder: key\nholder id: key_1\namount: $0.009\n")
  })

  it("reports an empty list", () => {
    expect(renderResult({ limits: [] }, PLAIN)).toBe("No limits.\n")
  })

  it("escapes characters that move the cursor", () => {
    const text = renderResult({ name: "a\u001b[2Jb\nc\u202ed" }, PLAIN)
    expect(text).toBe("name: a\\u{1b}[2Jb\\nc\\u{202e}d\n")
  })
})

describe("progress", () => {
  it("rewrites one line on a terminal and clears it", () => {
    const terminal = recordingTerminal({ errIsTTY: true, columns: 10 })
    const line = openProgressLine(terminal)
    line.report("one")
    line.report("a long message")
    line.clear()
    line.clear()
    const clear = "\r\u001b[2K"
    expect(terminal.stderr).toBe(`${clear}one${clear}a long me${clear}`)
    expect(terminal.stdout).toBe("")
  })

  it("is not written without a terminal", () => {
    const terminal = recordingTerminal({ isTTY: true })
    const line = openProgressLine(terminal)
    line.report("one")
    line.clear()
    expect([terminal.stdout, terminal.stderr]).toEqual(["", ""])
  })
})

const DUE_AT = "2040-08-01T00:00:00.000Z"

describe("job retry", () => {
  it.each([
    ["done", null, null, "Job 7 is done.\n"],
    ["rescheduled", DUE_AT, null, `Job 7 was attempted and is rescheduled for ${DUE_AT}.\n`],
    ["failed", DUE_AT, null, "Job 7 was attempted and failed; it is retried automatically.\n"],
    ["stuck", DUE_AT, "no\u001b[2J", "Job 7 is stuck: no\\u{1b}[2J.\n"],
    ["running", DUE_AT, null, "Job 7 is running.\n"],
    ["due", DUE_AT, null, "Job 7 is due and has not started yet.\n"],
  ])("reports a job that is %s", (state, dueAt, stuck, words) => {
    const render = PROGRAM.operations.find(({ name }) => name === "job retry")?.render
    const answer = { jobId: 7, retried: true, state, dueAt, stuck }
    expect(render?.(answer, { isTTY: false, columns: 80 })).toBe(words)
  })
})
