/** Asking before something is lost: for its name on a terminal, elsewhere for `--yes`. */
import type { ErrorBody } from "../protocol.ts"
import { USAGE } from "../protocol.ts"
import type { Invocation } from "./program.ts"
import type { Terminal } from "./terminal.ts"
import { harmless } from "./terminal.ts"

/** Whether a command may be done, and the name that was confirmed; null where none is asked for. */
export type Confirmation = { readonly confirmed: string | null } | { readonly error: ErrorBody }

/** Who was asked interrupted it: nothing was begun. */
export class NothingBegun extends Error {
  override readonly name = "NothingBegun"
}

/**
 * Asks where something is lost by a command. What was confirmed goes with the request: whoever does the
 * command does not do it without.
 *
 * @throws NothingBegun where the signal was aborted meanwhile
 */
export async function confirmationOf(
  { command, input, isSure }: Invocation,
  { askFor }: Terminal,
  signal: AbortSignal,
): Promise<Confirmation> {
  if (command.irreversible === undefined) return { confirmed: null }
  const { field, says } = command.irreversible
  const name = String(input[field])
  if (isSure) return { confirmed: name }
  const what = `${harmless(`${command.name} ${name}`)}: ${says}.`
  if (askFor === undefined) return unconfirmed(`${what} Say that it is meant, with --yes`)
  const typed = await askFor(`${what}\nType ${harmless(name)} to go on: `, signal).catch(
    (error: unknown) => {
      throw signal.aborted && error === signal.reason ? new NothingBegun() : error
    },
  )
  if (typed.trim() === name.trim()) return { confirmed: name }
  return unconfirmed(`that is not ${harmless(name)}: nothing was done`)
}

const unconfirmed = (message: string) => ({ error: { error: USAGE, message } })
