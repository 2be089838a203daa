/** What the command line does beside operations, declared as they are: by a schema and its words. */
import type { ZodType } from "zod"
import type { Input } from "./cli/command.ts"
import type { Page } from "./cli/render.ts"
import type { AdminOperation } from "./operation.ts"

/** What every command declares that is no operation; each field means what an operation's does. */
interface Worded<I> {
  readonly name: string
  readonly summary: string
  readonly notes?: readonly string[]
  readonly example: string
  readonly input: ZodType<I>
}

/** A command of the program itself. The benchmarks have words of their own behind theirs. */
export interface ProgramCommand extends Worded<unknown> {
  readonly does: "start" | "config" | "doctor" | "bench" | "completion"
}

/** A command on the installation's stores as a whole, which opens no installation on them. */
export interface MoveCommand<O = unknown> extends Worded<unknown> {
  readonly does: "move"
  /** Whether a server may run on the installation meanwhile; absent: it is refused. */
  readonly isBeside?: true
  /** The answer for people. */
  readonly render: (result: O, page: Page) => string
}

/** What a command works with that is done here, in the command line's own process. */
export interface LocalWork<I> {
  readonly input: I
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
export interface LocalCommand<I = unknown, O = unknown> extends Worded<I> {
  readonly does: "local"
  /**
   * The module that exports it, by its `import.meta.url`: it alone is loaded to do it, so whatever only
   * some of its work needs is loaded by `run`.
   */
  readonly from: string
  /** Whether `ok` of its answer says that all is well. */
  readonly isVerdict?: true
  readonly run: (work: LocalWork<I>) => Promise<O>
  /** The answer for people. */
  readonly render: (result: NoInfer<O>, page: Page) => string
}

/** Whatever is declared for an operator. */
export type Command = AdminOperation | LocalCommand | MoveCommand | ProgramCommand

/** Checks a command's types where it is written, and forgets them for the list of all. */
export function localCommand<I, O>(spec: Omit<LocalCommand<I, O>, "does">): LocalCommand {
  return { ...spec, does: "local" } as unknown as LocalCommand
}

/** The same of a move, which answers `O`. */
export function moveCommand<O>(spec: Omit<MoveCommand<O>, "does">): MoveCommand {
  return { ...spec, does: "move" } as unknown as MoveCommand
}

/** The command of a name that a module exports, by itself or in a list. */
export function exportedCommand(name: string, module: object): LocalCommand {
  const found = Object.values(module)
    .flat()
    .find((one) => isCommand(one) && one.does === "local" && one.name === name)
  if (found === undefined) throw new Error(`${name} is not where the catalogue says: write it anew`)
  return found as LocalCommand
}

function isCommand(value: unknown): value is Command {
  return typeof value === "object" && value !== null && "does" in value
}
