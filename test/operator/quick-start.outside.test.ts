/** The quick start of the README, typed as written, and the demo's week in real processes. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, resolve, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, expect, it } from "vitest"
import { BUNDLE_FILE } from "../../bin/program.mjs"
import { makeDataFolder, untilFileAppears, interruptCommand } from "../support/server-process.ts"
import { access, mkdir } from "node:fs/promises"

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, "../..")
const README = readFileSync(resolve(ROOT, "README.md"), "utf8")

/** A command of the quick start, and the answer that the README shows. */
interface Step {
  readonly command: string
  readonly expected: string
}

/** The first line of a command, in the blocks after the definitions. */
const COMMAND = /^(company-ledger .*|text)$/

function blocks(): readonly string[] {
  const part = README.slice(README.indexOf("## Quick start"), README.indexOf("## How it works"))
  return [...part.matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block)
}

const [banner = "", definitions = "", ...rest] = blocks()

/** Every command after the definitions, with its expected output. */
function stepsOf(): readonly Step[] {
  const lines = ["text", ...rest.join("").trimEnd().split("\n")]
  const steps: { command: string; expected: string[] }[] = []
  for (const line of lines) {
    if (COMMAND.test(line)) steps.push({ command: line, expected: [] })
    else steps.at(-1)?.expected.push(line)
  }
  return steps.map(({ command, expected }) => ({ command, expected: expected.join("\n") }))
}

const STEPS = stepsOf()
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`

/** The pattern of an answer: `…` matches anything, a time matches any time, a space matches any white space. */
function patternOf(expected: string): RegExp {
  const escaped = expected.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const loose = escaped
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+\\\.\d{3}Z/g, TIME)
    .replaceAll("…", String.raw`[\s\S]*?`)
    .replaceAll(/\s+/g, String.raw`\s*`)
  return new RegExp(`^${loose}$`)
}

const folder = await makeDataFolder()
afterAll(() => folder.removeFiles())
// The quick start does not depend on the demo's week, which has its own server below.
let server = await folder.start("--demo", "--no-week")
let key = ""
let id = ""

/** Waits for the key, which the demo prints at the end of the banner. */
async function printedKey(): Promise<string> {
  await server.until(() => server.lines.at(-1) === "")
  const printed = server.lines.join("\n")
  id = /key id\s+(key_\w+)/.exec(printed)?.[1] ?? id
  return /cpk_\w+/.exec(printed)?.[0] ?? ""
}

/** Runs a command of the quick start in a shell with the README's definitions. */
async function type(command: string): Promise<string> {
  if (key === "") key = await printedKey()
  const setup = definitions
    .replace(/^text$/m, "")
    .replace(/^alias .*$/m, `company-ledger() { '${process.execPath}' '${BUNDLE_FILE}' "$@"; }`)
    .replace("KEY=cpk_… ID=key_…", `KEY=${key} ID=${id}`)
    .replace("http://127.0.0.1:3000", server.url)
  const env = { ...process.env, LEDGER_DATA_DIR: folder.dataDir }
  const { stdout } = await run("bash", ["-c", `${setup}\n${command}`], { env, cwd: ROOT })
  return stdout
}

const limits = async () => {
  const found = await folder.runCommand("limit", "list", "--company", "acme")
  return found.limits.map(({ holder, class: of, period, amountMicros }: Record<string, unknown>) =>
    [holder, of, period, amountMicros].join(" "),
  )
}

describe("the quick start", () => {
  it("shows the banner that the demo prints", async () => {
    expect(README).toContain("\n```\nnpm start -- --demo\n```\n")
    expect(await printedKey()).toMatch(/^cpk_/)
    const shown = banner.replace(":3000", `:${new URL(server.url).port}`)
    expect(server.lines.join("\n")).toMatch(patternOf(`${shown} …`))
  })

  it("sends a text, sets a limit, shows the refusal and raises the limit", () => {
    expect(STEPS.map(({ command }) => command.split(" ").slice(0, 3).join(" "))).toEqual([
      "text",
      "company-ledger limit set",
      "text",
      "company-ledger ask --company",
      "company-ledger refusals list",
      "company-ledger limit set",
      "text",
    ])
    for (const { command, expected } of STEPS) expect([command, expected]).not.toContain("")
  })

  it("answers each command as shown, and leaves the demo's limits and simulators unchanged", async () => {
    const before = await limits()
    for (const { command, expected } of STEPS) {
      expect((await type(command)).trim(), command).toMatch(patternOf(expected))
    }
    expect(await limits()).toEqual(before)
    const simulators = await folder.runCommand("simulator", "list")
    expect(JSON.stringify(simulators)).not.toMatch(/"outcome":"(?!ok)/)
  })

  it("can be repeated in the same month", async () => {
    const texts = STEPS.map(({ command }) => command)
    const answers: string[] = []
    for (const command of texts) answers.push(await type(command))
    const statuses = answers.flatMap((answer) => /\n(\d{3})\n$/.exec(answer)?.[1] ?? [])
    expect(statuses).toEqual(["200", "401", "200"])
  })

  it("prints a command that creates another key at every later start", async () => {
    expect(await server.endBySignal("SIGTERM")).toBe(0)
    for (const options of [[], ["--demo"]]) {
      server = await folder.start(...options)
      const line = () => server.lines.find((one) => one.startsWith("  another key  "))
      await server.until(() => line() !== undefined)
      const pasted = `${line()?.replace("  another key  ", "")} --json`
      // The printed line must work in any shell: in another folder, without settings and aliases.
      const plain = { cwd: dirname(folder.dataDir), env: { PATH: process.env["PATH"] } }
      key = JSON.parse((await run("bash", ["-c", pasted], plain)).stdout).key
      expect(await type("text")).toMatch(/\n200\n$/)
      await server.endBySignal("SIGTERM")
    }
  })
})

it("uses the program's name from its help", async () => {
  const { stdout } = await run(process.execPath, [BUNDLE_FILE, "--help"])
  expect(stdout).toMatch(/^Usage: company-ledger /)
  // `npm run ledger` runs the same program; the README uses one name.
  expect(README).not.toMatch(/npm run (-s )?ledger/)
})

it("has at most 200 lines of at most 120 characters", () => {
  const lines = README.trimEnd().split("\n")
  expect(lines.length).toBeLessThanOrEqual(200)
  expect(lines.filter((line) => line.length > 120)).toEqual([])
})

const DAY_MS = 86_400_000
const week = await makeDataFolder()
afterAll(() => week.removeFiles())
let weekServer = await week.start("--demo")

const { operate } = week
const ofAcme = (name: string, input: object = {}) => operate(name, { company: "acme", ...input })
const countedBy = (rows: readonly Record<string, unknown>[], field: string) =>
  [...new Set(rows.map((row) => row[field]))].toSorted()

describe("the demo's week", () => {
  it("has charges of several kinds on every day until now", async () => {
    const { now, clock } = await operate("clock show")
    expect(clock).toBe("system")
    const months = [now, new Date(Date.parse(now) - 8 * DAY_MS).toISOString()]
    const charges: { at: string; item: string }[] = []
    for (const month of new Set(months.map((one) => one.slice(0, 7)))) {
      charges.push(...(await ofAcme("charge list", { month })).charges)
    }
    const ages = charges.map(({ at }) => Math.floor((Date.parse(now) - Date.parse(at)) / DAY_MS))
    expect([...new Set(ages)].toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(countedBy(charges, "item")).toEqual(
      expect.arrayContaining([
        "address_suggestion",
        "box_minute_large",
        "call_minute",
        "code review",
        "email_recipient",
        "number_month_local",
        "print run",
        "text_segment",
      ]),
    )
  })

  it("has stopped boxes with a charge for each minute", async () => {
    const { boxes } = await ofAcme("box list")
    const ran = boxes.map((one: Record<string, string>) => {
      const ms = Date.parse(one["stoppedAt"] ?? "") - Date.parse(one["createdAt"] ?? "")
      return { minutes: Math.round(ms / 60_000), stopReason: one["stopReason"] }
    })
    const paid = boxes.map(({ spent }: { spent: { minutes: number } }) => spent.minutes)
    expect(ran.map(({ minutes }: { minutes: number }) => minutes)).toEqual(paid)
    expect(paid.toSorted((one: number, other: number) => one - other)).toEqual([5, 7, 9, 11])
    expect(countedBy(ran, "stopReason")).toEqual(["stopped"])
  })

  it("ends with a limit nearly used, and with refusals by limits and by short funds", async () => {
    const { limits: held } = await ofAcme("limit list")
    const ai = held.find(
      (one: Record<string, unknown>) => one["holder"] === "company" && one["class"] === "ai",
    )
    expect(ai.usedMicros / ai.amountMicros).toBeCloseTo(0.91, 1)
    const { refusals } = await ofAcme("refusals list")
    expect(countedBy(refusals, "code")).toEqual(["payment_required", "spend_limit_reached"])
    const holders = refusals.flatMap(({ limit }: { limit: { holder: string } | null }) =>
      limit === null ? [] : [limit.holder],
    )
    expect([...new Set(holders)].toSorted()).toEqual(["company", "key"])
  })

  it("passes the audit and leaves no job stuck", async () => {
    expect(await operate("audit verify")).toMatchObject({ ok: true })
    expect(await ofAcme("audit replay")).toMatchObject({ ok: true })
    const { jobs: work } = await operate("job list")
    expect(work.filter((one: { stuck: unknown }) => one.stuck !== null)).toEqual([])
  })

  it("runs once: another start does not change the company", async () => {
    const before = await ofAcme("company show")
    expect(await weekServer.endBySignal("SIGTERM")).toBe(0)
    weekServer = await week.start("--demo")
    const line = () => weekServer.lines.find((one) => one.startsWith("  demo "))
    await weekServer.until(() => line() !== undefined)
    expect(line()).toMatch(/not created: this store already has companies/)
    expect(weekServer.log()).not.toContain("Creating a week")
    expect(await ofAcme("company show")).toEqual(before)
    expect(await weekServer.endBySignal("SIGTERM")).toBe(0)
  })
})

it("rejects a folder in which the demo was interrupted, and says what to do", async () => {
  const interrupted = await makeDataFolder()
  try {
    await mkdir(interrupted.dataDir)
    const ended = await interruptCommand(
      interrupted,
      ["start", "--demo"],
      untilFileAppears(interrupted.dataDir, "demo-app"),
    )
    expect(ended.stderr).toMatch(/was not completed\. Remove that folder/)
    await expect(access(join(interrupted.dataDir, "demo-begun"))).resolves.toBeUndefined()
    for (const words of [["start", "--demo"], ["start"], ["company", "list"]]) {
      const refused = await interrupted.tryCommand(...words)
      expect(refused.code).toBe(1)
      expect(refused.stderr + refused.stdout).toMatch(/was not completed/)
    }
  } finally {
    await interrupted.removeFiles()
  }
})
