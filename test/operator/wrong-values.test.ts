/** What an operator is told of values that do not fit: sentences for people, whatever the schema is. */
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { PROGRAM } from "../../src/slices.ts"
import type { AdminOperation } from "../../src/frame/operator/operation.ts"
import { wordOfField } from "../../src/frame/operator/catalogue.ts"
import { runOperation } from "../../src/frame/operator/run-operation.ts"
import type { CommandSpec, OptionSpec } from "../../src/frame/operator/cli/command.ts"
import { parseWords } from "../../src/frame/operator/cli/program.ts"
import { CATALOGUE, NO_PORTS, wordsOf } from "./fake-host.ts"

/** What Zod says where nobody says anything better. */
const ZODS_OWN =
  /Invalid (input|string|option|ISO|date|value|key|element|number)|Too (small|big)|Unrecognized key|expected .* received/i

/** What says of no value what it should be. */
const FOR_NOBODY = /the form that is asked for here|of another kind/

const LONG = "x".repeat(200_000)
const TEXTS = ["", " ", LONG, "\0", "\uD800", "-1", "0.5", "1e99", "nonsense", "2026-13-45T99:00Z"]
const OTHERS = [null, Number.NaN, -1, 0, 0.5, 1e99, true, {}, [], [7], ["\0"], [LONG], [{}]]

/** Operations that do nothing with what they take, so that none asks whether it is meant. */
const CHECKING: readonly AdminOperation[] = PROGRAM.operations.map(
  ({ irreversible: _named, ...operation }) => ({ ...operation, run: async () => null }),
)

const talk = { progress: () => {}, send: async () => {}, signal: new AbortController().signal }

/** What an operator is told of an input; null where it is taken. */
async function toldOf(operation: string, input: unknown): Promise<string | null> {
  const request = { operation, input, actor: "test", reason: null }
  const answer = await runOperation(CHECKING, NO_PORTS, request, talk)
  return "error" in answer ? answer.error.message : null
}

function fieldsOf({ input }: AdminOperation): readonly string[] {
  return input instanceof z.ZodObject ? Object.keys(input.shape) : []
}

describe("an operation's input", () => {
  it.for(PROGRAM.operations)("is refused in words for people: $name", async (operation) => {
    const { name } = operation
    for (const input of [undefined, null, 7, "text", [], Number.NaN]) {
      expect(await toldOf(name, input)).toBe(
        "This is not valid: input: must be an object of named fields",
      )
    }
    for (const field of fieldsOf(operation)) {
      let refusals = 0
      for (const value of [...TEXTS, ...OTHERS]) {
        const told = await toldOf(name, { [field]: value })
        if (told === null) continue
        const about = told.replace("This is not valid: ", "").split("; ")
        const own = about.filter((fault) =>
          fault.startsWith(`${wordOfField(operation.input, field)}: `),
        )
        refusals += own.length
        expect(told).not.toMatch(ZODS_OWN)
        expect(told).not.toMatch(FOR_NOBODY)
      }
      // Whatever a field takes, there is a kind of value that it does not.
      expect([field, refusals]).not.toEqual([field, 0])
    }
  })

  it("says which field is wrong and what it would be", async () => {
    const revision = { stream: "s", from: 0.5, limit: 0 }
    expect(await toldOf("audit show", revision)).toBe(
      "This is not valid: --from: must be a whole number; --limit: must be more than 0",
    )
    expect(await toldOf("clock set", { to: "soon" })).toBe(
      "This is not valid: ISO: must be a time such as 2026-11-30T23:59:00Z",
    )
    expect(await toldOf("company create", { name: "a", plan: "30" })).toBe(
      "This is not valid: --plan: must be one of 29, 79, 197, 329, payg",
    )
    expect(await toldOf("company show", {})).toBe("This is not valid: COMPANY: is required")
    const named = { company: "acme", app: true, operations: ["phone.message.send"] }
    expect(await toldOf("key create", named)).toBe(
      "This is not valid: --operation: phone.message.send is no operation; " +
        "was phone.messages.send meant?",
    )
  })
})

/** The example of a command as words, without the word or option that is to be wrong. */
function otherWords(spec: CommandSpec, { flags }: OptionSpec): readonly string[] {
  const words = wordsOf(spec.example)
  const flag = flags.split(" ")[0] ?? ""
  const at = words.indexOf(flag)
  if (at === -1) return words
  const next = words.findIndex((word, index) => index > at && word.startsWith("--"))
  return [...words.slice(0, at), ...(next === -1 ? [] : words.slice(next))]
}

/** The words of a command with one wrong word in the place of an argument. */
function withArgument(spec: CommandSpec, place: number, value: string): readonly string[] {
  const words = [...wordsOf(spec.example)]
  words[spec.name.split(" ").length + place] = value
  return words
}

const takesText = ({ flags }: OptionSpec) => flags.includes("<")

/** What is told of words, by the command line or by the operation; null where they are taken. */
async function toldOfWords(words: readonly string[]): Promise<string | null> {
  const parsed = parseWords(CATALOGUE, words, 80)
  if (parsed.kind === "usage") return parsed.text
  if (parsed.kind === "help" || parsed.invocation.command.does !== "operation") return null
  return toldOf(parsed.invocation.command.name, parsed.invocation.input)
}

describe("a word of the command line", () => {
  it.for(CATALOGUE.commands)("is refused in words for people: $name", async (spec) => {
    expect(await toldOfWords(wordsOf(spec.example))).toBeNull()
    const options = spec.options.filter(takesText).flatMap((option) => {
      const flag = option.flags.split(" ")[0] ?? ""
      return TEXTS.map((text) => [...otherWords(spec, option), flag, text])
    })
    const places = spec.arguments.flatMap((_argument, place) =>
      TEXTS.map((text) => withArgument(spec, place, text)),
    )
    for (const words of [...options, ...places]) {
      const told = await toldOfWords(words)
      expect(told ?? "").not.toMatch(ZODS_OWN)
      expect(told ?? "").not.toMatch(FOR_NOBODY)
    }
  })

  it.for(["as", "reason"])("is refused where --%s is longer than is kept", async (name) => {
    const told = await toldOfWords(["company", "lock", "acme", `--${name}`, "x".repeat(2_001)])
    expect(told).toMatch(/It must be at most (200|2000) characters long/)
  })
})
