/** Finding a command that is done in this process in the module that the catalogue names. */
import type { Command, LocalCommand } from "../commands.ts"

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
