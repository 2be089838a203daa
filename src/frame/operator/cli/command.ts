/**
 * A command as data: its words, and what they become. The program, its help and the input of its
 * operation all come from this.
 */
import type { Page } from "./render.ts"

/** The input of an operation, as it is put together from words. */
export type Input = Readonly<Record<string, unknown>>

/** A word by its place. */
export interface ArgumentSpec {
  /** As help shows it, such as `KEY_ID`. */
  readonly name: string
  readonly description: string
  /** The field of the input that it becomes. */
  readonly field: string
  readonly isOptional?: boolean
  /** Whether it takes any number of words; then it is the last, and `parse` reads each of them. */
  readonly isVariadic?: boolean
  readonly choices?: readonly string[]
  /** Reads the word. @throws InvalidArgumentError */
  readonly parse?: (text: string) => unknown
}

/** A word by its name. */
export interface OptionSpec {
  /** As commander takes it, such as `--dollars <dollars>`. */
  readonly flags: string
  readonly description: string
  /** The field of the input that it becomes; default the flag in camel case. */
  readonly field?: string
  readonly isRequired?: boolean
  readonly choices?: readonly string[]
  /** Reads one word. @throws InvalidArgumentError */
  readonly parse?: (text: string) => unknown
}

/** What every command has. */
interface AnyCommand {
  /** One or two words, such as `company create`. */
  readonly name: string
  readonly summary: string
  /** Units and whatever else one has to know, a sentence a line. */
  readonly notes?: readonly string[]
  /** Words that can be given as they stand. */
  readonly example: string
  readonly arguments?: readonly ArgumentSpec[]
  readonly options?: readonly OptionSpec[]
}

/** A command that carries out an operation of the same name. */
export interface OperationCommand extends AnyCommand {
  readonly does: "operation"
  /** Whether it changes something: then it takes `--as` and `--reason`. */
  readonly changes?: boolean
  /** Whether `--reason` must be given, because it becomes part of the fact. */
  readonly needsReason?: boolean
  /** Whether it takes `--out` for what the operation sends. */
  readonly hasFile?: boolean
  /** What stands in the file, where nobody else may read it; it is then named by the word FILE. */
  readonly hasSecretFile?: boolean
  /** Why these words cannot stand together; null where they can. */
  readonly check?: (input: Input) => string | null
  /** The answer for people; default all its fields. */
  readonly render?: (result: unknown, page: Page) => string
  /** Whether the answer says that all is well; default always. */
  readonly isWell?: (result: unknown) => boolean
}

/** A command of the program itself. */
export interface ProgramCommand extends AnyCommand {
  readonly does: "start" | "config" | "doctor"
}

/**
 * A command that moves the whole installation: only where no server runs on it. It ends in an audit.
 */
export interface MoveCommand extends AnyCommand {
  readonly does: "move"
  /** The answer for people. */
  readonly render: (result: unknown, page: Page) => string
}

/** What a command works with that is done here, in the command line's own process. */
export interface LocalWork {
  readonly input: Input
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
  /**
   * Has an operation done where the stores are; `take` gets what it sends.
   *
   * @throws Refused with its answer where it was refused
   */
  readonly ask: (
    operation: string,
    input: Input,
    take: (chunk: string) => Promise<void>,
  ) => Promise<unknown>
}

/** A command that is done here: it opens no stores unless it asks for an operation. */
export interface LocalCommand extends AnyCommand {
  readonly does: "local"
  readonly run: (work: LocalWork) => Promise<unknown>
  /** Why these words cannot stand together; null where they can. */
  readonly check?: (input: Input) => string | null
  /** The answer for people. */
  readonly render: (result: unknown, page: Page) => string
  /** Whether the answer says that all is well; default always. */
  readonly isWell?: (result: unknown) => boolean
}

/** The command that starts the benchmarks, a program of their own with words of its own. */
export interface BenchCommand extends AnyCommand {
  readonly does: "bench"
}

/** A command. */
export type CommandSpec =
  OperationCommand | ProgramCommand | MoveCommand | LocalCommand | BenchCommand

/** Option that most commands share: which company. */
export const COMPANY: OptionSpec = {
  flags: "--company <company>",
  description: "the company, by id or name",
  isRequired: true,
}

/** Says in help what unit amounts have. */
export const DOLLARS_NOTE =
  "Money options are US dollars (12.50; at most six decimals). With --json money is in micros, " +
  "millionths of a dollar."
