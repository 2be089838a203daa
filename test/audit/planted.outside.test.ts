import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, describe, expect, it } from "vitest"
import { checkFile } from "../../src/audit/check-file.ts"
import { signHead } from "../../src/audit/trees.ts"
import { PROGRAM } from "../../src/slices.ts"
import { makeCompany, ownWorld, setLimit } from "../support/world.ts"
import { newSigning } from "../support/audit-ports.ts"

// Each test names what it changes; a type would only repeat the form of a proof.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any

/** A change to plant: its name, its path in a proof, and the new value. */
type Planted = readonly [string, string, (value: Any, all: Any) => unknown]

function planted(proof: string, [, path, change]: Planted): string {
  const all = JSON.parse(proof)
  const names = path.split(".")
  const last = names.pop() ?? ""
  const at = names.reduce((part, name) => part[name], all)
  at[last] = change(at[last], all)
  return JSON.stringify(all)
}

const flipped = (hash: string) => (hash.startsWith("0") ? "1" : "0") + hash.slice(1)

/** Changes in the proof of a charge, which both checks must detect. */
const IN_PROOFS: readonly Planted[] = [
  ["one byte of the event", "event.data", (data) => data.replace('"1000000"', '"1000001"')],
  ["another charge's id", "chargeId", () => "a"],
  ["another hash before it", "event.previousHash", flipped],
  ["another index in the tree", "event.index", (index) => index - 1],
  ["an index beyond the tree", "event.index", (_index, { head }) => head.size],
  ["another path", "event.inclusion.1", flipped],
  ["a shorter path", "event.inclusion", (path) => path.slice(0, -1)],
  ["a changed input", "inputs.events.0.data", (data) => data.replace("0", "1")],
  ["another root", "head.root", flipped],
  ["another signature", "head.signature", (one) => `${one[0] === "A" ? "B" : "A"}${one.slice(1)}`],
  ["a former head that was never signed", "consistency.0.from.root", flipped],
  ["another path from a former head", "consistency.0.path.0", flipped],
  ["another company", "company", () => "co_x"],
  ["a limit that no fact set", "inputs.limits.0.amountMicros", (micros) => micros + 1],
  [
    "a limit too many",
    "inputs.limits",
    ([one]) => [one, { ...one, holder: "key", holderId: "key_x" }],
  ],
  [
    "a limit that was used up",
    "inputs.limits.0",
    (one) => ({ ...one, usedMicros: one.amountMicros, remainingMicros: 0 }),
  ],
  ["a lock that would have rejected it", "inputs.locked", () => true],
  ["no lock field", "inputs.locked", () => undefined],
  ["funds that would not have paid for it", "inputs.fundsMicros", () => 1],
  ["no events of the inputs", "inputs.events", () => []],
  ["no preceding fact", "inputs.events", (all) => all.slice(0, -1)],
  ["another form", "form", () => 2],
]

/** Changes in the proof of a refusal. */
const IN_REFUSALS: readonly Planted[] = [
  ["other funds", "inputs.fundsMicros", (micros) => micros + 1],
  ["another used amount", "inputs.limits.0.usedMicros", (micros) => micros - 1],
  ["no limits", "inputs.limits", () => []],
  ["a lock", "inputs.locked", () => true],
]

const SCRIPT = fileURLToPath(new URL("../../docs/verify.mjs", import.meta.url))
const run = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), "ledger-planted-"))
const world = await ownWorld("time")
const company = await makeCompany(world)
await makeCompany(world)
await setLimit(world, company, { dollars: "5" })

const spending = { company: company.companyId, class: "general", item: "chat" }
for (const id of ["a", "b", "c"]) {
  await world.operate("charge", { ...spending, dollars: "1", id })
  await world.operate("audit head")
}
const { publicKey } = await world.operate("audit head")
await world.operate("charge", { ...spending, dollars: "9", id: "no" }).catch(() => undefined)
const history = await sent("audit export", {})
const refusal = await sent("audit proof", { chargeId: "no" })
const proof = await sent("audit proof", { chargeId: "b" })

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The content of the file that an operation sends. */
async function sent(name: string, input: object): Promise<string> {
  const found = PROGRAM.operations.find((operation) => operation.name === name)
  let text = ""
  const cause = { command: "test", actor: "test", keyId: null, personId: null, reason: null }
  const observer = { progress: () => undefined, signal: new AbortController().signal }
  const send = async (chunk: string | Uint8Array) => void (text += String(chunk))
  await found?.run({ ports: world.ports, cause, send, ...observer }, found.input.parse(input))
  return text
}

/** The errors of our program and of the script for a text; null if it is valid. */
async function verdicts(text: string): Promise<readonly [string | null, string | null]> {
  const path = join(folder, "planted")
  await writeFile(path, text)
  const signal = new AbortController().signal
  const ours = await checkFile({ path, publicKey, progress: () => undefined, signal }).then(
    () => null,
    (error: unknown) => String(error),
  )
  const theirs = await run(process.execPath, [SCRIPT, path, publicKey]).then(
    () => null,
    (error: { readonly stderr: string }) => error.stderr,
  )
  return [ours, theirs]
}

const lines = () => history.trimEnd().split("\n")
const joined = (all: readonly string[]) => `${all.join("\n")}\n`
const indexOf = (part: string) => lines().findIndex((line) => line.includes(part))
const edit = (part: string, from: string | RegExp, to: string) =>
  joined(lines().with(indexOf(part), (lines()[indexOf(part)] ?? "").replace(from, to)))

/** A head over the same text with another signature. */
async function signedByAnother(line: string): Promise<string> {
  const { head } = JSON.parse(line)
  return JSON.stringify({ head: await signHead(newSigning(), head) })
}

const IN_EXPORTS: Readonly<Record<string, () => string | Promise<string>>> = {
  "one byte of an amount": () => edit('"Charged"', '\\"1000000\\"', '\\"1000001\\"'),
  "one byte of a stored hash": () => edit('"Charged"', /\\"hash\\":\\"./, '\\"hash\\":\\"x'),
  "another type": () => edit('"Charged"', '"type":"Charged"', '"type":"FundsAdded"'),
  "another id": () => edit('"Charged"', /"id":"./, '"id":"x'),
  "another stream": () => edit('"Charged"', '"stream":"ledger', '"stream":"phone'),
  "a removed event": () => joined(lines().toSpliced(indexOf('"Charged"'), 1)),
  "an event twice": () => {
    const at = indexOf('"Charged"')
    return joined(lines().toSpliced(at, 0, lines()[at] ?? ""))
  },
  "two events in another order": () => {
    const [a, b] = [indexOf('"stream":"companies"'), indexOf('"stream":"access')]
    return joined(
      lines()
        .with(a, lines()[b] ?? "")
        .with(b, lines()[a] ?? ""),
    )
  },
  "the last event of a stream removed, its range corrected": () => {
    const at = lines().findLastIndex((line) => line.includes('"Charged"'))
    const { stream, revision } = JSON.parse(lines()[at - 1] ?? "")
    const { hash } = JSON.parse(JSON.parse(lines()[at - 1] ?? "").metadata)
    const range = JSON.stringify({ range: stream, first: 0, last: revision, hash })
    return joined(
      lines()
        .with(indexOf(`"range":"${stream}"`), range)
        .toSpliced(at, 1),
    )
  },
  "another root": () => edit('{"head"', /"root":"./, '"root":"x'),
  "another position of the head": () => edit('{"head"', '"position":"', '"position":"1'),
  "another size of the head": () => edit('{"head"', '"size":', '"size":1'),
  "another time of the head": () => edit('{"head"', '"at":"2', '"at":"3'),
  "a signature with another key": async () => {
    const at = indexOf('{"head"')
    return joined(lines().with(at, await signedByAnother(lines()[at] ?? "")))
  },
  "no head": () => joined(lines().toSpliced(indexOf('{"head"'), 1)),
  "no range": () => joined(lines().toSpliced(indexOf('{"range"'), 1)),
  "another range": () => edit('{"range"', '"first":0', '"first":1'),
  "another company": () => edit('"form"', '"company":null', '"company":"co_x"'),
  "another count": () => edit('{"manifest"', '"events":', '"events":1'),
  "another sum of the bytes": () => edit('{"manifest"', /"sha256":"./, '"sha256":"x'),
  "no manifest": () => joined(lines().slice(0, -1)),
  "a cut in the middle of a line": () => history.slice(0, -100),
  "no end of the last line": () => history.slice(0, -1),
  "another line behind the end": () => joined([...lines(), "{}"]),
}

describe("an unchanged file", () => {
  it("is valid for our program and for the independent script", async () => {
    expect(await verdicts(history)).toEqual([null, null])
    expect(await verdicts(proof)).toEqual([null, null])
    expect(await verdicts(refusal)).toEqual([null, null])
    expect(JSON.parse(proof).consistency.length).toBeGreaterThan(1)
  })

  it("is checked by a script of at most 150 lines that imports only Node's modules", async () => {
    const text = await readFile(SCRIPT, "utf8")
    expect(text.split("\n").length - 1).toBeLessThanOrEqual(150)
    const imports = [...text.matchAll(/from "([^"]+)"/g)].map(([, name]) => name)
    expect(imports.every((name) => name?.startsWith("node:"))).toBe(true)
  })
})

describe("an export", () => {
  it.each(Object.entries(IN_EXPORTS))("with %s is detected by both", async (_name, plant) => {
    const text = await plant()
    expect(text).not.toBe(history)
    const [ours, theirs] = await verdicts(text)
    expect(ours).toMatch(/^HistoryFileFault: line \d+.*expected .*, found /s)
    expect(theirs).toMatch(/expected .*, found |SyntaxError/s)
  })
})

describe("an invalid file", () => {
  const without = (path: string) => planted(proof, [path, path, () => undefined])
  it.each([
    ["no content", () => ""],
    ["a blank line", () => "\n"],
    ["a blank line in an export", () => joined(lines().toSpliced(3, 0, ""))],
    ["an export of another form", () => edit('"form"', '"form":1', '"form":2')],
    ["a proof without inclusion", () => without("event.inclusion")],
    ["a proof without a head", () => without("head")],
  ])("with %s is rejected in one sentence", async (_name, text) => {
    const [ours, theirs] = await verdicts(text())
    expect(ours).toMatch(/^HistoryFileFault: line \d+.*expected .*, found .*$/s)
    expect(theirs).toMatch(/^[^\n]*expected [^\n]*, found [^\n]*\n$/)
  })
})

describe("docs/verify.mjs", () => {
  it("rejects an unreadable file in one sentence", async () => {
    for (const words of [[], [join(folder, "none")], [folder]]) {
      const ran = await run(process.execPath, [SCRIPT, ...words]).then(String, (error) => error)
      expect(ran).toMatchObject({ code: 1 })
      expect(ran.stderr).toMatch(/^[^\n]*expected [^\n]*, found [^\n]*\n$/)
    }
  })
})

describe("a proof", () => {
  it.each([
    ...IN_PROOFS.map((one) => [one[0], one, proof] as const),
    ...IN_REFUSALS.map((one) => [one[0], one, refusal] as const),
  ])("with %s is detected by both", async (_name, one, original) => {
    const text = planted(original, one)
    expect(text).not.toBe(original.trimEnd())
    const [ours, theirs] = await verdicts(text)
    expect(ours).toMatch(/^HistoryFileFault: line 1.*expected .*, found /s)
    expect(theirs).toMatch(/expected .*, found /s)
  })
})
