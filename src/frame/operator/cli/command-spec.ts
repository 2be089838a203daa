/** Commands as data, and parsers for the values of their options. */
import { resolve } from "node:path"
import { InvalidArgumentError } from "commander"
import { EXTERNAL_ID_RULE, isValidExternalId } from "../../../../domain/charging/recent-names.ts"
import { microsFromDollars } from "../../../../domain/kernel/money.ts"
import { MAX_ACTOR_LENGTH, MAX_REASON_LENGTH } from "../protocol.ts"
import { DATABASE_STORE, eventStoreAddressFault } from "../../kernel/event-store-address.ts"
import { readFileSync } from "node:fs"

/** Creates a parser that keeps text unchanged. @param otherwise the message for invalid text */
function textMatching(
  isOne: (text: string) => boolean,
  otherwise: string,
): (text: string) => string {
  return (text) => {
    if (isOne(text)) return text
    throw new InvalidArgumentError(otherwise)
  }
}

/** Creates a parser of whole numbers. @param otherwise the message for other text */
function wholeNumberFrom(
  least: number,
  otherwise: string,
  most = Number.MAX_SAFE_INTEGER,
): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    throw new InvalidArgumentError(otherwise)
  }
}

/** Parses dollars, zero or more, and keeps their text. @throws InvalidArgumentError */
function parseDollars(text: string): string {
  const micros = microsFromDollars(text)
  if (micros === null) {
    const form = "Write dollars such as 12.50, with at most six decimals and at most nine billion."
    throw new InvalidArgumentError(form)
  }
  if (micros < 0) throw new InvalidArgumentError("Dollars cannot be negative here.")
  return text.trim()
}

/** Parses a SHA-256 in hexadecimal, in lower case. @throws InvalidArgumentError */
function parseHash(text: string): string {
  const hash = text.trim().toLowerCase()
  if (/^[0-9a-f]{64}$/.test(hash)) return hash
  throw new InvalidArgumentError("Write a hash of 64 hexadecimal characters.")
}

/** Parses an Ed25519 public key: base64 of its 32 bytes. @throws InvalidArgumentError */
function parsePublicKey(text: string): string {
  const key = Buffer.from(text, "base64")
  if (key.length === 32 && key.toString("base64") === text.trim()) return text.trim()
  throw new InvalidArgumentError('Write a public key as "audit head" prints it.')
}

const ISO = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?$/

/** Parses an ISO 8601 time, UTC by default, to an exact time. @throws InvalidArgumentError */
function parseIsoTime(text: string): string {
  // Lower case is valid (RFC 3339 §5.6).
  const match = ISO.exec(text.toUpperCase())
  const at = match === null ? Number.NaN : Date.parse(fullTime(match))
  if (match === null || Number.isNaN(at) || !isDay(match[1] ?? "")) {
    throw new InvalidArgumentError("Write a time such as 2026-11-30T23:59:00Z (UTC).")
  }
  return new Date(at).toISOString()
}

const fullTime = ([, day, time = "00:00", zone = "Z"]: RegExpExecArray): string =>
  `${day}T${time}${zone}`

/** Whether the calendar has this day: a date such as February 30 is a mistake. */
function isDay(day: string): boolean {
  const at = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day)
}

/** Parses a positive or negative amount of dollars and keeps its text. @throws InvalidArgumentError */
function parseDollarChange(text: string): string {
  const micros = microsFromDollars(text)
  if (micros !== null && micros !== 0) return text.trim()
  throw new InvalidArgumentError("Write a change in dollars such as 12.50 or -3, not 0.")
}

/** Parses a text that is not empty. */
const parseText = textMatching((text) => text.trim() !== "", "It must not be empty.")

function parseBoundedText(mostCharacters: number): (text: string) => string {
  return (text) => {
    if (text.length <= mostCharacters) return parseText(text)
    throw new InvalidArgumentError(
      `It is ${text.length} characters long; the limit is ${mostCharacters}.`,
    )
  }
}

/** Parses the actor of a command. @throws InvalidArgumentError */
const parseActor = parseBoundedText(MAX_ACTOR_LENGTH)

/** Parses the reason of a command. @throws InvalidArgumentError */
const parseReason = parseBoundedText(MAX_REASON_LENGTH)

/** More processes would only wait for one another. */
const MAX_PROCESSES = 64

const parseProcessCount = wholeNumberFrom(
  1,
  `Write a number from 1 to ${MAX_PROCESSES}, or auto.`,
  MAX_PROCESSES,
)

/** Parses the number of server processes; `auto` lets the machine decide. @throws InvalidArgumentError */
const parseProcesses = (text: string): number | "auto" =>
  text === "auto" ? text : parseProcessCount(text)

/** Parses the target of a migration: a server of EventStoreDB, or the database. @throws InvalidArgumentError */
function parseStoreAddress(text: string): string {
  const fault = text === DATABASE_STORE ? null : eventStoreAddressFault(text)
  if (fault === null) return text
  throw new InvalidArgumentError(`It ${fault}; or "${DATABASE_STORE}".`)
}

/** Parsers by the form that schemas name (`.meta({ form })`). @throws InvalidArgumentError */
export const VALUE_PARSERS = {
  actor: parseActor,
  change: parseDollarChange,
  "charge-id": textMatching(isValidExternalId, `It ${EXTERNAL_ID_RULE}.`),
  count: wholeNumberFrom(1, "Write a whole number of 1 or more."),
  day: textMatching(
    (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDay(text),
    "Write a day such as 2026-11-30.",
  ),
  digits: textMatching((text) => /^\d{1,10}$/.test(text), "Write a number in digits."),
  dollars: parseDollars,
  file: (text: string) => resolve(parseText(text)),
  duration: textMatching(
    (text) => /^\d{1,9}[smhd]$/.test(text),
    "Write a duration such as 90s, 15m, 3h or 2d.",
  ),
  hash: parseHash,
  month: textMatching(
    (text) => /^\d{4}-(0[1-9]|1[0-2])$/.test(text),
    "Write a month such as 2026-11.",
  ),
  processes: parseProcesses,
  "public-key": parsePublicKey,
  reason: parseReason,
  revision: wholeNumberFrom(0, "Write a revision: a whole number of 0 or more."),
  "store-address": parseStoreAddress,
  text: parseText,
  time: parseIsoTime,
} as const

export type ValueForm = keyof typeof VALUE_PARSERS

// Commands as data: the parser, its help and the input of the operation derive from this, and this derives from
// the declared commands (`catalogue.ts`).

/** The input of an operation, as parsed from the command line. */
export type OperationInput = Readonly<Record<string, unknown>>

export interface ArgumentSpec {
  /** Name in the help text, such as `KEY_ID`. */
  readonly name: string
  readonly description: string
  /** The input field that it sets. */
  readonly field: string
  readonly isOptional?: true
  /** Whether it takes any number of words; then it is the last, and each word is parsed by its form. */
  readonly isVariadic?: true
  readonly choices?: readonly string[]
  /** Values for shell completion, if it has no choices. */
  readonly suggests?: readonly string[]
  /** How the word is parsed; default unchanged. */
  readonly form?: ValueForm
}

export interface OptionSpec {
  /** As commander takes it, such as `--dollars <dollars>`. */
  readonly flags: string
  readonly description: string
  /** The input field that it sets; default the flag in camel case. */
  readonly field?: string
  readonly isRequired?: true
  readonly choices?: readonly string[]
  /** Values for shell completion, if it has no choices. */
  readonly suggests?: readonly string[]
  /** How a value is parsed; default unchanged. */
  readonly form?: ValueForm
}

/** What an irreversible command destroys; it runs only after a confirmation. */
export interface Irreversible<Field extends string = string> {
  /** The input field that names the thing. */
  readonly field: Field
  /** The consequence, and how long it can be undone; follows "<command> <name>: ". */
  readonly says: string
}

/** What runs a command: a server operation, this process, a maintenance command, or the program itself. */
type CommandKind =
  "operation" | "local" | "move" | "start" | "config" | "doctor" | "bench" | "completion"

export interface CommandSpec {
  readonly does: CommandKind
  /** One or two words, such as `company create`. */
  readonly name: string
  readonly summary: string
  readonly notes: readonly string[]
  readonly example: string
  readonly arguments: readonly ArgumentSpec[]
  readonly options: readonly OptionSpec[]
  /** Whether it takes `--as` and `--reason`. */
  readonly changes?: true
  readonly needsReason?: true
  /** Set if the command is irreversible: then it takes `--yes`. */
  readonly irreversible?: Irreversible
  /** Whether it takes `--out`; a secret file is named by the argument FILE. */
  readonly hasFile?: true
  /** Whether only the owner of the `--out` file may read it. */
  readonly isPrivate?: true
  readonly hasSecretFile?: true
  /** Whether the exit code is 1 if `ok` of its answer is false. */
  readonly isVerdict?: true
  /** The module that exports a command of this process, relative to the sources. */
  readonly from?: string
}

export interface Catalogue {
  /** Descriptions of the groups of two-word commands, by the first word. */
  readonly topics: Readonly<Record<string, string>>
  /** The modules that export settings and providers of slices, relative to the sources. */
  readonly settings: readonly string[]
  readonly providers: readonly string[]
  /** Every command, in the order of the help text. */
  readonly commands: readonly CommandSpec[]
}

const PACKAGE = new URL("../../../../package.json", import.meta.url)

/** The release of this program, from `package.json`. */
export const RELEASE = String(
  (JSON.parse(readFileSync(PACKAGE, "utf8")) as { readonly version?: unknown }).version,
)
