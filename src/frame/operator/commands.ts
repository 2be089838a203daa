/** Commands other than operations, declared by a schema and its words. */
import type { ZodType } from "zod"
import type { OperationInput } from "./cli/command-spec.ts"
import type { OutputPage } from "./cli/render.ts"
import type { AdminOperation } from "./operation.ts"

/** What every command that is not an operation declares; the fields mean the same as an operation's. */
interface CommandDescription<I> {
  readonly name: string
  readonly summary: string
  readonly notes?: readonly string[]
  readonly example: string
  readonly input: ZodType<I>
}

/** A command of the program itself. The benchmarks parse their own arguments. */
export interface ProgramCommand extends CommandDescription<unknown> {
  readonly does: "start" | "config" | "doctor" | "bench" | "completion"
}

/** A command on the installation's stores as a whole; it opens no installation. */
export interface MaintenanceCommand<O = unknown> extends CommandDescription<unknown> {
  readonly does: "move"
  /** Whether a server may run on the installation in the meantime; absent: the command is rejected then. */
  readonly canRunWithServer?: true
  /** Renders the answer for people. */
  readonly render: (result: O, page: OutputPage) => string
}

/** What a command uses that runs in the command line's own process. */
export interface LocalCommandContext<I> {
  readonly input: I
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
  /**
   * Runs an operation on the server or the opened stores; `take` receives the pieces of its file.
   *
   * @throws CommandRefused if the operation was rejected
   */
  readonly callOperation: (
    operation: string,
    input: OperationInput,
    take: (chunk: string) => Promise<void>,
  ) => Promise<unknown>
}

/** A command that runs in this process; it opens no stores unless it calls an operation. */
export interface LocalCommand<I = unknown, O = unknown> extends CommandDescription<I> {
  readonly does: "local"
  /**
   * The `import.meta.url` of the exporting module. Only that module is loaded to run the command, so `run`
   * should import whatever is needed rarely.
   */
  readonly from: string
  /** Whether the exit code is 1 if `ok` of its answer is false. */
  readonly isVerdict?: true
  readonly run: (work: LocalCommandContext<I>) => Promise<O>
  /** Renders the answer for people. */
  readonly render: (result: NoInfer<O>, page: OutputPage) => string
}

/** Any declared command. */
export type OperatorCommand = AdminOperation | LocalCommand | MaintenanceCommand | ProgramCommand

/** Checks a command's types and erases them for the common list. */
export function localCommand<I, O>(spec: Omit<LocalCommand<I, O>, "does">): LocalCommand {
  return { ...spec, does: "local" } as unknown as LocalCommand
}

/** Checks a maintenance command's types and erases them for the common list. */
export function maintenanceCommand<O>(
  spec: Omit<MaintenanceCommand<O>, "does">,
): MaintenanceCommand {
  return { ...spec, does: "move" } as unknown as MaintenanceCommand
}

/** Finds the command with this name that a module exports, directly or in a list. */
export function findExportedCommand(name: string, module: object): LocalCommand {
  const found = Object.values(module)
    .flat()
    .find((one) => isCommand(one) && one.does === "local" && one.name === name)
  if (found === undefined) {
    throw new Error(
      `the catalogue names the wrong module for ${name}: run "node bin/catalogue.mjs"`,
    )
  }
  return found as LocalCommand
}

function isCommand(value: unknown): value is OperatorCommand {
  return typeof value === "object" && value !== null && "does" in value
}
