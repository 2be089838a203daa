/** What the command line does beside operations, declared as they are: by a schema and its words. */
import type { ZodType } from "zod"
import type { OperationInput } from "./cli/command-spec.ts"
import type { OutputPage } from "./cli/render.ts"
import type { AdminOperation } from "./operation.ts"

/** What every command declares that is no operation; each field means what an operation's does. */
interface CommandDescription<I> {
  readonly name: string
  readonly summary: string
  readonly notes?: readonly string[]
  readonly example: string
  readonly input: ZodType<I>
}

/** A command of the program itself. The benchmarks have words of their own behind theirs. */
export interface ProgramCommand extends CommandDescription<unknown> {
  readonly does: "start" | "config" | "doctor" | "bench" | "completion"
}

/** A command on the installation's stores as a whole, which opens no installation on them. */
export interface MaintenanceCommand<O = unknown> extends CommandDescription<unknown> {
  readonly does: "move"
  /** Whether a server may run on the installation meanwhile; absent: it is refused. */
  readonly canRunWithServer?: true
  /** The answer for people. */
  readonly render: (result: O, page: OutputPage) => string
}

/** What a command works with that is done here, in the command line's own process. */
export interface LocalCommandContext<I> {
  readonly input: I
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
  /**
   * Has an operation done where the stores are; `take` gets what it sends.
   *
   * @throws Refused with its answer where it was refused
   */
  readonly callOperation: (
    operation: string,
    input: OperationInput,
    take: (chunk: string) => Promise<void>,
  ) => Promise<unknown>
}

/** A command that is done here: it opens no stores unless it asks for an operation. */
export interface LocalCommand<I = unknown, O = unknown> extends CommandDescription<I> {
  readonly does: "local"
  /**
   * The module that exports it, by its `import.meta.url`: it alone is loaded to do it, so whatever only
   * some of its work needs is loaded by `run`.
   */
  readonly from: string
  /** Whether `ok` of its answer says that all is well. */
  readonly isVerdict?: true
  readonly run: (work: LocalCommandContext<I>) => Promise<O>
  /** The answer for people. */
  readonly render: (result: NoInfer<O>, page: OutputPage) => string
}

/** Whatever is declared for an operator. */
export type OperatorCommand = AdminOperation | LocalCommand | MaintenanceCommand | ProgramCommand

/** Checks a command's types where it is written, and forgets them for the list of all. */
export function localCommand<I, O>(spec: Omit<LocalCommand<I, O>, "does">): LocalCommand {
  return { ...spec, does: "local" } as unknown as LocalCommand
}

/** The same of a move, which answers `O`. */
export function maintenanceCommand<O>(
  spec: Omit<MaintenanceCommand<O>, "does">,
): MaintenanceCommand {
  return { ...spec, does: "move" } as unknown as MaintenanceCommand
}

/** The command of a name that a module exports, by itself or in a list. */
export function findExportedCommand(name: string, module: object): LocalCommand {
  const found = Object.values(module)
    .flat()
    .find((one) => isCommand(one) && one.does === "local" && one.name === name)
  if (found === undefined) throw new Error(`${name} is not where the catalogue says: write it anew`)
  return found as LocalCommand
}

function isCommand(value: unknown): value is OperatorCommand {
  return typeof value === "object" && value !== null && "does" in value
}
