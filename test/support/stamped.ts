import type { Decider, Fact, Stamp } from "../../domain/kernel/decider.ts"

/** A command that a test has written with its stamp in one object, as the writer hands the two over. */
export function apart<C>(stamped: C & Stamp): { readonly command: C; readonly stamp: Stamp } {
  const { at, headHash, ...command } = stamped
  const stamp = headHash === undefined ? { at } : { at, headHash }
  return { command: command as unknown as C, stamp }
}

/** Decides a command that a test has written with its stamp in one object. */
export function decideStamped<C, S, E extends Fact, R extends Fact>(
  decider: Pick<Decider<C, S, E, R>, "decide">,
  stamped: C & Stamp,
  state: S,
): readonly E[] | R {
  const { command, stamp } = apart<C>(stamped)
  return decider.decide(command, state, stamp)
}
