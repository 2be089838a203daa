/**
 * The law of every decider: the state after deciding and folding is the state that is folded from what
 * was stored. So a state in memory never has what a later load will not find.
 */
import { inspect, isDeepStrictEqual } from "node:util"
import type { Decider, Fact, Stamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/format.ts"

/** Commands in the order in which they are decided, each with its stamp. */
export type CommandHistory<C> = readonly { readonly command: C; readonly stamp: Stamp }[]

/** A decider and the codec of its facts. */
export interface Rules<C, S, E extends Fact, R extends Fact> {
  readonly decider: Decider<C, S, E, R>
  readonly codec: Codec<E>
  /** What of a state is compared, where it also remembers what was looked up last. */
  readonly compared?: (state: S) => unknown
}

/** What a history comes to: how many facts it recorded, and how a state differs; null where none does. */
export interface Compared {
  readonly facts: number
  readonly difference: string | null
}

/** Decides a history, and beside it folds what is read of its stored facts. */
export function compareWithStored<C, S, E extends Fact, R extends Fact>(
  { decider, codec, compared = (state) => state }: Rules<C, S, E, R>,
  history: CommandHistory<C>,
): Compared {
  let [live, stored] = [decider.initial(), decider.initial()]
  let facts = 0
  for (const { command, stamp } of history) {
    const decided = decider.decide(command, live, stamp)
    if (isRefusal(decided)) continue
    for (const fact of decided) {
      const { type } = fact
      const read = codec.decode(type, codec.version(type), codec.encode(fact))
      if (!isDeepStrictEqual(fact, read)) return { facts, difference: between(type, fact, read) }
      live = decider.evolve(live, fact)
      stored = decider.evolve(stored, read)
      facts += 1
    }
  }
  const [ends, found] = [compared(live), compared(stored)]
  if (isDeepStrictEqual(ends, found)) return { facts, difference: null }
  return { facts, difference: between("the state", ends, found) }
}

function between(what: string, decided: unknown, stored: unknown): string {
  const shown = (value: unknown) =>
    inspect(value, { depth: null, breakLength: Infinity, compact: true })
  return `${what} is ${shown(decided)}, and as it is stored ${shown(stored)}`
}
