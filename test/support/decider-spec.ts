/**
 * Given/when/then for deciders: `given(decider, ...facts).when(command).records(...facts)`.
 *
 * Every specification also sees that a decision is pure: the same command is decided twice on the
 * state that the facts fold to, and both answers must be equal.
 */
import { expect, vi } from "vitest"
import type { Decider, Fact, DecisionStamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"

/** A command that a test has written with its stamp in one object, as the writer hands the two over. */
export function splitStamp<C>(stamped: C & DecisionStamp): {
  readonly command: C
  readonly stamp: DecisionStamp
} {
  const { at, headHash, ...command } = stamped
  const stamp = headHash === undefined ? { at } : { at, headHash }
  return { command: command as unknown as C, stamp }
}

/** Decides a command that a test has written with its stamp in one object. */
export function decideStamped<C, S, E extends Fact, R extends Fact>(
  decider: Pick<Decider<C, S, E, R>, "decide">,
  stamped: C & DecisionStamp,
  state: S,
): readonly E[] | R {
  const { command, stamp } = splitStamp<C>(stamped)
  return decider.decide(command, state, stamp)
}

/** Makes facts or commands that are as usual but for what a test changes. */
export const withUsualFields =
  <T extends object>(usual: T) =>
  (changed: Partial<T> = {}): T => ({ ...usual, ...changed })

/** What a command came to, ready to be compared with what it should come to. */
interface CommandExpectations<E extends Fact, R extends Fact> {
  /** Exactly these facts, in this order. */
  readonly records: (...facts: readonly E[]) => void
  /** No fact, and no refusal: it is already so. */
  readonly recordsNothing: () => void
  /** A refusal with this code whose other fields are at least these. */
  readonly refuses: (code: CodeOf<R>, partial?: Partial<R>) => void
}

/** The codes that a union of refusals can carry. */
type CodeOf<R> = R extends { readonly code: infer C } ? C : never

/** Facts that were, before the command. */
interface DeciderSpec<C, E extends Fact, R extends Fact> {
  readonly when: (command: C & DecisionStamp) => CommandExpectations<E, R>
}

/** Begins a specification: the state is what these facts fold to. */
export function given<C, S, E extends Fact, R extends Fact>(
  decider: Decider<C, S, E, R>,
  ...facts: readonly E[]
): DeciderSpec<C, E, R> {
  return {
    when: (command) => {
      const answer = decideTwice(decider, facts, command)
      return {
        records: vi.defineHelper((...expected: readonly E[]) => {
          expect(answer, `${nameOf(command)} records`).toEqual(expected)
        }),
        recordsNothing: vi.defineHelper(() => {
          expect(answer, `${nameOf(command)} records nothing`).toEqual([])
        }),
        refuses: vi.defineHelper((code: CodeOf<R>, partial: Partial<R> = {}) => {
          expect(isRefusal(answer) ? answer : { recorded: answer }).toMatchObject({
            type: expect.stringMatching(/Refused$/) as string,
            at: command.at,
            code,
            ...partial,
          })
          // Where a no speaks to a person, it is a sentence.
          if ("message" in answer) expect(answer.message).toMatch(/^[A-Z].+\.$/)
        }),
      }
    },
  }
}

/** The state that facts fold to. Each is folded as a copy, so that no test can share a state. */
export function foldFacts<C, S, E extends Fact, R extends Fact>(
  decider: Decider<C, S, E, R>,
  ...facts: readonly E[]
): S {
  return facts.reduce(
    (state, fact) => decider.evolve(state, structuredClone(fact)),
    decider.initial(),
  )
}

/** A decider to be asked one command after the other: it answers facts, or the code of a refusal. */
export function deciderSession<C, S, E extends Fact, R extends Fact & { readonly code: string }>(
  decider: Decider<C, S, E, R>,
) {
  let state = decider.initial()
  const facts: E[] = []
  const ask = (command: C, at: number): readonly E[] | string => {
    const answer = decider.decide(command, state, { at })
    if (isRefusal(answer)) return answer.code
    for (const fact of answer) state = decider.evolve(state, fact)
    facts.push(...answer)
    return answer
  }
  return { ask, facts, state: () => state }
}

function decideTwice<C, S, E extends Fact, R extends Fact>(
  decider: Decider<C, S, E, R>,
  facts: readonly E[],
  command: C & DecisionStamp,
): readonly E[] | R {
  const state = foldFacts(decider, ...facts)
  const before = structuredClone(command)
  const first = decideStamped(decider, command, state)
  expect(decideStamped(decider, command, state), "the same again, for a decision is pure").toEqual(
    first,
  )
  expect(command, "the command is left as it was").toEqual(before)
  return first
}

function nameOf(command: unknown): string {
  const named = command as { readonly type?: unknown }
  return typeof named.type === "string" ? named.type : "the command"
}
