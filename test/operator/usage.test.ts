/** Command lines that cannot be parsed, and invalid input of operations. */
import { describe, expect, it } from "vitest"
import { fakeHost, runTestCommand, splitWords, CATALOGUE, parseLine } from "./fake-host.ts"
import { z } from "zod"
import { PROGRAM } from "../../src/slices.ts"
import type { AdminOperation } from "../../src/frame/operator/operation.ts"
import { invalidRefusal, parseFields } from "../../src/frame/routes/checks/7-values.ts"
import { toCommandError } from "../../src/frame/operator/cli/run-command-line.ts"
import type { CommandSpec, OptionSpec } from "../../src/frame/operator/cli/command-spec.ts"
import { parseCommandLine, commandWordOf } from "../../src/frame/operator/cli/command-parser.ts"
import { readFile } from "node:fs/promises"
import { BILL_FORMATS } from "../../src/billing/formats.ts"

const KEY = "key create --company acme"
const LIMIT = "limit set --company acme --dollars 5"

/** Invalid command lines, each with the expected message. */
const mistakes: readonly (readonly [string, RegExp])[] = [
  ["", /name a command/],
  ["company", /name a command/],
  ["nonsense", /unknown command 'nonsense'/],
  ["company nonsense", /unknown command 'nonsense'/],
  ["company list --nonsense", /unknown option '--nonsense'/],
  ["company list extra", /too many arguments/],
  ["company create", /missing required argument 'NAME'/],
  ['company create ""', /must not be empty/],
  ...["0", "-1", '""', "foo", "1.5", "65", "1e1"].map((count): [string, RegExp] => [
    `start --processes ${count}`,
    /Write a number from 1 to 64, or auto/,
  ]),
  ["company create acme --plan 30", /Allowed choices are payg, 29, 79, 197, 329/],
  ["company create acme --funds lots", /Write dollars such as 12.50/],
  ["company create acme --funds -1", /cannot be negative/],
  ["company create acme --funds 0.0000001", /at most six decimals/],
  ["person add --company acme --name A --email a@b.c --role king", /Allowed choices/],
  ["person add --name A --email a@b.c --role user", /required option '--company <company>'/],
  ["key pause key_1 --as", /argument missing/],
  ['key pause key_1 --as ""', /must not be empty/],
  [`${KEY} --all-operations`, /exactly one/],
  [`${KEY} --person per_1 --app --all-operations`, /exactly one/],
  [`${KEY} --app`, /--operation, or pass --all-operations/],
  [`${KEY} --app --all-operations --operation phone.messages.send`, /or pass --all-operations/],
  [`${KEY} --app --all-operations --add-funds-per-month 5`, /go together/],
  [`${LIMIT} --class ai`, /required option '--period <period>'/],
  [`${LIMIT} --period week`, /needs --class/],
  [`${LIMIT} --class ai --period day`, /only a key's limit can be for a day/],
  [`${LIMIT} --class ai --period day --person per_1`, /only a key's limit can be for a day/],
  [`${LIMIT} --class ai --period week --key key_1`, /leave out --class/],
  [`${LIMIT} --class ai --period week --key key_1 --person per_1`, /not for both/],
  [`${LIMIT} --class ai --period week --leave-keys-out`, /--leave-keys-out is only for/],
  [`${LIMIT} --period day --key key_1 --leave-keys-out`, /--leave-keys-out is only for/],
  [`${LIMIT} --class ai --period week --remind 1 x`, /Write dollars/],
  ["limit remove --company acme", /needs --class/],
  ["limit remove --company acme --key key_1 --class ai", /leave out --class/],
  ["funds add --company acme", /required option '--dollars <dollars>'/],
  ["charge --company acme", /a charge needs --class, --dollars, --item/],
  ["charge refund chg_1", /give a reason with --reason/],
  ["funds correct --company acme --dollars 5", /give a reason with --reason/],
  ["funds notice --company acme", /pass the threshold with --below, or --off/],
  ["funds notice --company acme --below 5 --off", /--below and --off exclude each other/],
  ["funds correct --company acme --dollars 0 --reason x", /not 0/],
  ["price set nothing --dollars 1", /Allowed choices are box_minute_small/],
  ["calls list --company acme --day 2026-02-30", /Write a day/],
  ["company change acme", /pass at least one of/],
  ["company change acme --prepaid-only maybe", /Allowed choices are on, off/],
  ["key change key_1", /pass at least one of/],
  ["key change key_1 --operation phone.messages.send --all-operations", /not both/],
  ["charge list --company acme --month November", /Write a month/],
  ["charge list", /required option '--company <company>'/],
  // A misspelled option is reported before the missing one.
  ["limit list --compny acme", /unknown option '--compny'\s+\(Did you mean --company\?\)/],
  ["charge --compny acme --class ai", /unknown option '--compny'\s+\(Did you mean --company\?\)/],
  [`${LIMIT} --class ai --perod week`, /unknown option '--perod'\s+\(Did you mean --period\?\)/],
  ["person add --nam Ada", /unknown option '--nam'\s+\(Did you mean --name\?\)/],
  [
    "export billing --company acme --month 2026-11 --fromat csv --out a",
    /unknown option '--fromat'\s+\(Did you mean --format\?\)/,
  ],
  ["company lst", /unknown command 'lst'\s+\(Did you mean list\?\)/],
  ["message list --company acme --since soon", /Write a time/],
  ["carrier deliver msg_1", /required option '--status <status>'/],
  ["carrier deliver msg_1 --status lost", /Allowed choices are delivered, failed/],
  [
    "carrier deliver msg_1 --status delivered --code 1",
    /--code is only valid with --status failed/,
  ],
  ["carrier deliver msg_1 --status failed --code x", /number in digits/],
  ["simulator set unknown ok", /Allowed choices are carrier/],
  ["simulator set carrier explode", /carrier has no outcome "explode"; use ok/],
  ["simulator set carrier ok --times 0", /whole number of 1 or more/],
  ["clock set tomorrow", /Write a time/],
  ["clock set 2026-02-30", /Write a time/],
  ["clock advance 15", /Write a duration/],
  ["clock advance 1.5h", /Write a duration/],
  ["job retry x", /whole number of 1 or more/],
  ["audit show", /missing required argument 'STREAM'/],
  ["audit show s --since soon", /Write a time/],
  ["export billing --company acme --month 2026-13 --format csv --out f", /Write a month/],
  ["export billing --company acme --month 2026-11 --format xml --out f", /Allowed choices are csv/],
  ["export billing --company acme --month 2026-11 --format csv", /required option '--out <file>'/],
]

describe("wrong usage", () => {
  it.each(mistakes)("exits 2 with the reason on standard error: %s", async (line, reason) => {
    const host = fakeHost([])
    const ran = await runTestCommand(splitWords(line), host)
    expect(ran).toMatchObject({ code: 2, stdout: "" })
    const isUnfinished = reason.source === "name a command"
    expect(ran.stderr).toMatch(isUnfinished ? /^Usage: company-ledger/ : reason)
    expect(host.calls).toEqual([])
  })

  it.each(mistakes.filter(([line]) => !line.endsWith("--as")))(
    "is one JSON document with --json: %s",
    async (line, reason) => {
      const ran = await runTestCommand([...splitWords(line), "--json"], fakeHost([]))
      expect(ran.code).toBe(2)
      const document = JSON.parse(ran.stdout) as Record<string, unknown>
      expect(document["error"]).toBe("usage")
      // --json belongs to a command: before one it is itself an unknown option.
      const isEarly = splitWords(line).length < 2
      expect(document["message"]).toMatch(isEarly ? /unknown (option|command)/ : reason)
    },
  )

  it("rejects a file and a JSON document that are both for standard output", async () => {
    const line = "export billing --company acme --month 2026-11 --format csv --out - --json"
    const ran = await runTestCommand(splitWords(line), fakeHost([]))
    expect(ran.code).toBe(2)
    expect(JSON.parse(ran.stdout)).toMatchObject({ message: expect.stringMatching(/both write/) })
  })
})

/** Zod's default messages. */
const ZOD_DEFAULT =
  /Invalid (input|string|option|ISO|date|value|key|element|number)|Too (small|big)|Unrecognized key|expected .* received/i

/** Messages that do not say which values are valid. */
const VAGUE = /the required format|of another kind/
const LONG = "x".repeat(200_000)
const TEXTS = ["", " ", LONG, "\0", "\uD800", "-1", "0.5", "1e99", "nonsense", "2026-13-45T99:00Z"]
const OTHERS = [null, Number.NaN, -1, 0, 0.5, 1e99, true, {}, [], [7], ["\0"], [LONG], [{}]]

const specOf = (operation: string): CommandSpec =>
  CATALOGUE.commands.find(({ name }) => name === operation) ?? {
    name: operation,
    does: "operation",
    summary: "",
    notes: [],
    example: "",
    arguments: [],
    options: [],
  }

/** The message for an input; null if it is valid. */
function messageForInput(operation: string, input: unknown): string | null {
  const found = PROGRAM.operations.find(({ name }) => name === operation)
  const { fields } = parseFields(found?.input, input)
  if (Object.keys(fields).length === 0) return null
  const { error, message } = invalidRefusal(fields)
  return toCommandError(specOf(operation), { error, message, fields }).message
}

function fieldsOf({ input }: AdminOperation): readonly string[] {
  return input instanceof z.ZodObject ? Object.keys(input.shape) : []
}

describe("an operation's input", () => {
  it.for(PROGRAM.operations)("is rejected with a clear message: $name", (operation) => {
    const { name } = operation
    for (const input of [undefined, null, 7, "text", [], Number.NaN]) {
      expect(messageForInput(name, input)).toMatch(
        /^This is not valid: (--)?body: the body must be an object$/,
      )
    }
    for (const field of fieldsOf(operation)) {
      let refusals = 0
      for (const value of [...TEXTS, ...OTHERS]) {
        const message = messageForInput(name, { [field]: value })
        if (message === null) continue
        const faults = message.replace("This is not valid: ", "").split("; ")
        const ofField = faults.filter((fault) =>
          fault.startsWith(`${commandWordOf(specOf(name), field)}: `),
        )
        refusals += ofField.length
        expect(message).not.toMatch(ZOD_DEFAULT)
        expect(message).not.toMatch(VAGUE)
      }
      // Every field rejects at least one of these values.
      expect([field, refusals]).not.toEqual([field, 0])
    }
  })

  it("is rejected with the invalid fields and their valid values", () => {
    const revision = { stream: "s", from: 0.5, limit: 0 }
    expect(messageForInput("audit show", revision)).toBe(
      "This is not valid: --from: must be a whole number; --limit: must be more than 0",
    )
    expect(messageForInput("clock set", { to: "soon" })).toBe(
      "This is not valid: ISO: must be a time such as 2026-11-30T23:59:00Z",
    )
    expect(messageForInput("company create", { name: "a", plan: "30" })).toBe(
      "This is not valid: --plan: must be one of 29, 79, 197, 329, payg",
    )
    expect(messageForInput("company show", {})).toBe("This is not valid: COMPANY: is required")
    const named = { company: "acme", app: true, operations: ["phone.message.send"] }
    expect(messageForInput("key create", named)).toBe(
      "This is not valid: --operation: phone.message.send is not an operation; " +
        "did you mean phone.messages.send?",
    )
  })
})

/** The words of a command's example, without one option. */
function otherWords(spec: CommandSpec, { flags }: OptionSpec): readonly string[] {
  const words = splitWords(spec.example)
  const flag = flags.split(" ")[0] ?? ""
  const at = words.indexOf(flag)
  if (at === -1) return words
  const next = words.findIndex((word, index) => index > at && word.startsWith("--"))
  return [...words.slice(0, at), ...(next === -1 ? [] : words.slice(next))]
}

/** The words of a command's example, with another value for one argument. */
function withArgument(spec: CommandSpec, index: number, value: string): readonly string[] {
  const words = [...splitWords(spec.example)]
  words[spec.name.split(" ").length + index] = value
  return words
}

const takesText = ({ flags }: OptionSpec) => flags.includes("<")

/** The message for a command line, from the parser or the operation; null if it is valid. */
function messageForLine(words: readonly string[]): string | null {
  const parsed = parseCommandLine(CATALOGUE, words, 80)
  if (parsed.kind === "usage") return parsed.text
  if (parsed.kind === "help" || parsed.invocation.command.does !== "operation") return null
  return messageForInput(parsed.invocation.command.name, parsed.invocation.input)
}

describe("a value of the command line", () => {
  it.for(CATALOGUE.commands)("is rejected with a clear message: $name", (spec) => {
    expect(messageForLine(splitWords(spec.example))).toBeNull()
    const options = spec.options.filter(takesText).flatMap((option) => {
      const flag = option.flags.split(" ")[0] ?? ""
      return TEXTS.map((text) => [...otherWords(spec, option), flag, text])
    })
    const positional = spec.arguments.flatMap((_argument, index) =>
      TEXTS.map((text) => withArgument(spec, index, text)),
    )
    for (const words of [...options, ...positional]) {
      const message = messageForLine(words)
      expect(message ?? "").not.toMatch(ZOD_DEFAULT)
      expect(message ?? "").not.toMatch(VAGUE)
    }
  })

  it.for(["as", "reason"])("is rejected if --%s is too long", (name) => {
    const message = messageForLine(["company", "lock", "acme", `--${name}`, "x".repeat(2_001)])
    expect(message).toMatch(/characters long; the limit is (200|2000)/)
  })
})

it.each(["--version", "-V"])("%s prints the version of the package", async (word) => {
  const { version } = JSON.parse(await readFile("package.json", "utf8"))
  expect(parseLine(word)).toEqual({ kind: "help", text: `${version}\n` })
})

it("accepts --version as an option of a command", () => {
  const words = 'release publish --version 2.1.0 --notes "Faster lists" --channel stable'
  expect(parseLine(words)).toMatchObject({
    kind: "command",
    invocation: { input: { version: "2.1.0" } },
  })
})

it.each(["csv", "focus-csv", "focus-parquet", "hledger", "ndjson", "pdf"])(
  "a bill can be exported as %s",
  (format) => {
    const words = `export billing --company acme --month 2026-11 --format ${format} --out a`
    expect(parseLine(words)).toMatchObject({
      kind: "command",
      invocation: { input: { company: "acme", month: "2026-11", format }, out: "a" },
    })
    expect(BILL_FORMATS).toContain(format)
  },
)
