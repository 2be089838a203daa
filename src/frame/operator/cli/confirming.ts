/** Asking before what cannot be undone: for the name on a terminal, elsewhere for `--yes`. */
import type { ErrorBody } from "../protocol.ts"
import { USAGE } from "../protocol.ts"
import type { Invocation } from "./program.ts"
import type { Terminal } from "./terminal.ts"
import { harmless } from "./terminal.ts"

/** Whether a command may be done, and the name that was confirmed; null where none is asked for. */
export type Confirmation = { readonly confirmed: string | null } | { readonly error: ErrorBody }

/**
 * Asks where a command cannot be undone. What was confirmed goes with the request: whoever does the
 * command does not do it without.
 *
 * @throws the signal's reason where that was aborted meanwhile
 */
export async function confirmationOf(
  { command, input, isSure }: Invocation,
  { askFor }: Terminal,
  signal: AbortSignal,
): Promise<Confirmation> {
  if (command.irreversible === undefined) return { confirmed: null }
  const name = String(input[command.irreversible])
  if (isSure) return { confirmed: name }
  const what = harmless(`${command.name} ${name}`)
  if (askFor === undefined)
    return unconfirmed(`${what} cannot be undone: say that it is meant, with --yes`)
  const question = `${what} cannot be undone. Type ${harmless(name)} to go on: `
  const typed = await askFor(question, signal)
  if (typed.trim() === name.trim()) return { confirmed: name }
  return unconfirmed(`that is not ${harmless(name)}: nothing was done`)
}

const unconfirmed = (message: string) => ({ error: { error: USAGE, message } })
