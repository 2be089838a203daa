/**
 * A command as data: its words, and what they become. The program, its help and the input of its
 * operation all come from this, and this comes from what is declared (`catalogue.ts`).
 */
import type { Form } from "./option-values.ts"

/** The input of an operation, as it is put together from words. */
export type Input = Readonly<Record<string, unknown>>

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
  readonly form?: Form
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
  readonly form?: Form
}

/** What is lost by a command, which is done only for whoever says that it is meant. */
export interface Irreversible<Field extends string = string> {
  /** The field that names what is lost. */
  readonly field: Field
  /** What happens, and until when it can be undone: words that stand behind "<command> <name>: ". */
  readonly says: string
}

/** Who does what a command says: an operation of its name, this process, a move, the program. */
export type Doer =
  "operation" | "local" | "move" | "start" | "config" | "doctor" | "bench" | "completion"

/** A command. */
export interface CommandSpec {
  readonly does: Doer
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
