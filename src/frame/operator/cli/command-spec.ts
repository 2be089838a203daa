/** Reading what an operator writes behind an option. */
import { resolve } from "node:path"
import { InvalidArgumentError } from "commander"
import { EXTERNAL_ID_RULE, isValidExternalId } from "../../../../domain/charging/recent-names.ts"
import { microsFromDollars } from "../../../../domain/kernel/money.ts"
import { MAX_ACTOR_LENGTH, MAX_REASON_LENGTH } from "../protocol.ts"
import { DATABASE_STORE, eventStoreAddressFault } from "../../kernel/event-store-address.ts"
import { readFileSync } from "node:fs"

/** Reads words that are kept as they are written. @param otherwise what is said of others */
function textMatching(
  isOne: (text: string) => boolean,
  otherwise: string,
): (text: string) => string {
  return (text) => {
    if (isOne(text)) return text
    throw new InvalidArgumentError(otherwise)
  }
}

/** Reads whole numbers. @param otherwise what is said of other words */
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

/** Dollars, zero or more, kept as they are written. @throws InvalidArgumentError */
function parseDollars(text: string): string {
  const micros = microsFromDollars(text)
  if (micros === null) {
    const form = "Write dollars such as 12.50, at most six decimals and nine thousand million."
    throw new InvalidArgumentError(form)
  }
  if (micros < 0) throw new InvalidArgumentError("Dollars cannot be below zero here.")
  return text.trim()
}

/** A SHA-256 in hexadecimal, in small letters. @throws InvalidArgumentError */
function parseHash(text: string): string {
  const hash = text.trim().toLowerCase()
  if (/^[0-9a-f]{64}$/.test(hash)) return hash
  throw new InvalidArgumentError("Write a hash of 64 hexadecimal characters.")
}

/** An Ed25519 key: base64 of its 32 bytes. @throws InvalidArgumentError */
function parsePublicKey(text: string): string {
  const key = Buffer.from(text, "base64")
  if (key.length === 32 && key.toString("base64") === text.trim()) return text.trim()
  throw new InvalidArgumentError('Write a public key as "audit head" prints it.')
}

const ISO = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?$/

/** A time in ISO 8601, UTC unless it says otherwise, as an exact one. @throws InvalidArgumentError */
function parseIsoTime(text: string): string {
  // Its letters may be small (RFC 3339 §5.6).
  const match = ISO.exec(text.toUpperCase())
  const at = match === null ? Number.NaN : Date.parse(fullTime(match))
  if (match === null || Number.isNaN(at) || !isDay(match[1] ?? "")) {
    throw new InvalidArgumentError("Write a time such as 2026-11-30T23:59:00Z (UTC).")
  }
  return new Date(at).toISOString()
}

const fullTime = ([, day, time = "00:00", zone = "Z"]: RegExpExecArray): string =>
  `${day}T${time}${zone}`

/** Whether the calendar has this day: dates that run over, such as February 30, are mistakes. */
function isDay(day: string): boolean {
  const at = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day)
}

/** Dollars above or below zero, kept as they are written. @throws InvalidArgumentError */
function parseDollarChange(text: string): string {
  const micros = microsFromDollars(text)
  if (micros !== null && micros !== 0) return text.trim()
  throw new InvalidArgumentError("Write a change in dollars such as 12.50 or -3, not 0.")
}

/** A text with something in it. */
const parseText = textMatching((text) => text.trim() !== "", "It must not be empty.")

/** A text of at most so many characters. */
function parseBoundedText(mostCharacters: number): (text: string) => string {
  return (text) => {
    if (text.length <= mostCharacters) return parseText(text)
    throw new InvalidArgumentError(`It must be at most ${mostCharacters} characters long.`)
  }
}

/** Who does something, as each fact names them. @throws InvalidArgumentError */
const parseActor = parseBoundedText(MAX_ACTOR_LENGTH)

/** Why something is done. @throws InvalidArgumentError */
const parseReason = parseBoundedText(MAX_REASON_LENGTH)

/** More would wait for one another. */
const MAX_PROCESSES = 64

const parseProcessCount = wholeNumberFrom(
  1,
  `Write a number from 1 to ${MAX_PROCESSES}, or auto.`,
  MAX_PROCESSES,
)

/** How many processes serve, or that the machine says so. @throws InvalidArgumentError */
const parseProcesses = (text: string): number | "auto" =>
  text === "auto" ? text : parseProcessCount(text)

/** Where events can be moved to: a server of EventStoreDB, or the database. @throws InvalidArgumentError */
function parseStoreAddress(text: string): string {
  const fault = text === DATABASE_STORE ? null : eventStoreAddressFault(text)
  if (fault === null) return text
  throw new InvalidArgumentError(`It ${fault}; or "${DATABASE_STORE}".`)
}

/**
 * The forms of words, by the names that schemas give them (`.meta({ form })`). Each reads a word as
 * the field of an input. @throws InvalidArgumentError
 */
export const VALUE_PARSERS = {
  actor: parseActor,
  change: parseDollarChange,
  "charge-id": textMatching(isValidExternalId, `It ${EXTERNAL_ID_RULE}.`),
  count: wholeNumberFrom(1, "Write a whole number from 1 on."),
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
  revision: wholeNumberFrom(0, "Write a revision: a whole number from 0 on."),
  "store-address": parseStoreAddress,
  text: parseText,
  time: parseIsoTime,
} as const

/** The name of a form. */
export type ValueForm = keyof typeof VALUE_PARSERS

// A command as data: its words, and what they become. The program, its help and the input of its
// operation all come from this, and this comes from what is declared (`catalogue.ts`).

/** The input of an operation, as it is put together from words. */
export type OperationInput = Readonly<Record<string, unknown>>

/** A word by its place. */
export interface ArgumentSpec {
  /** As help shows it, such as `KEY_ID`. */
  readonly name: string
  readonly description: string
  /** The field of the input that it becomes. */
  readonly field: string
  readonly isOptional?: true
  /** Whether it takes any number of words; then it is the last, and each is read by its form. */
  readonly isVariadic?: true
  readonly choices?: readonly string[]
  /** What a shell completes it to that knows no choices of it. */
  readonly suggests?: readonly string[]
  /** How the word is read; default as it stands. */
  readonly form?: ValueForm
}

/** A word by its name. */
export interface OptionSpec {
  /** As commander takes it, such as `--dollars <dollars>`. */
  readonly flags: string
  readonly description: string
  /** The field of the input that it becomes; default the flag in camel case. */
  readonly field?: string
  readonly isRequired?: true
  readonly choices?: readonly string[]
  /** What a shell completes it to that knows no choices of it. */
  readonly suggests?: readonly string[]
  /** How a word is read; default as it stands. */
  readonly form?: ValueForm
}

/** What is lost by a command, which is done only for whoever says that it is meant. */
export interface Irreversible<Field extends string = string> {
  /** The field that names what is lost. */
  readonly field: Field
  /** What happens, and until when it can be undone: words that stand behind "<command> <name>: ". */
  readonly says: string
}

/** Who does what a command says: an operation of its name, this process, a move, the program. */
type CommandKind =
  "operation" | "local" | "move" | "start" | "config" | "doctor" | "bench" | "completion"

/** A command. */
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
  /** What is lost: then it takes `--yes`. */
  readonly irreversible?: Irreversible
  /** Whether it takes `--out`; a secret file is named by the word FILE. */
  readonly hasFile?: true
  /** Whether the file of `--out` is its owner's alone to read. */
  readonly isPrivate?: true
  readonly hasSecretFile?: true
  /** Whether `ok` of its answer says that all is well; exit code 1 where it does not. */
  readonly isVerdict?: true
  /** The module that exports it, below the sources; only of what is done in this process. */
  readonly from?: string
}

/** What the command line offers. */
export interface Catalogue {
  /** What the commands are about whose names have two words, by the first of them. */
  readonly topics: Readonly<Record<string, string>>
  /** The modules that export the settings of slices, and their providers, below the sources. */
  readonly settings: readonly string[]
  readonly providers: readonly string[]
  /** Every command, in the order in which help lists them. */
  readonly commands: readonly CommandSpec[]
}

const PACKAGE = new URL("../../../../package.json", import.meta.url)

/** The release that this program is, as its package says. */
export const RELEASE = String(
  (JSON.parse(readFileSync(PACKAGE, "utf8")) as { readonly version?: unknown }).version,
)
