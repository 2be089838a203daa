/**
 * Given/when/then for deciders: `given(decider, ...facts).when(command).records(...facts)`.
 *
 * Every specification also checks that the decision is pure: it decides the command twice, and both answers must be
 * equal.
 */
import { expect, vi } from "vitest"
import type { Decider, Fact, DecisionStamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"

/** Splits an object that a test wrote into the command and its stamp. */
export function splitStamp<C>(stamped: C & DecisionStamp): {
  readonly command: C
  readonly stamp: DecisionStamp
} {
  const { at, headHash, ...command } = stamped
  const stamp = headHash === undefined ? { at } : { at, headHash }
  return { command: command as unknown as C, stamp }
}

/** Decides a command that has its stamp in the same object. */
export function decideStamped<C, S, E extends Fact, R extends Fact>(
  decider: Pick<Decider<C, S, E, R>, "decide">,
  stamped: C & DecisionStamp,
  state: S,
): readonly E[] | R {
  const { command, stamp } = splitStamp<C>(stamped)
  return decider.decide(command, state, stamp)
}

/** Returns a function that makes facts or commands with default fields, some of them changed. */
export const withUsualFields =
  <T extends object>(defaults: T) =>
  (changed: Partial<T> = {}): T => ({ ...defaults, ...changed })

/** Assertions on the result of a command. */
interface CommandExpectations<E extends Fact, R extends Fact> {
  /** Expects exactly these facts, in this order. */
  readonly records: (...facts: readonly E[]) => void
  /** Expects neither a fact nor a refusal, because the state already is as commanded. */
  readonly recordsNothing: () => void
  /** Expects a refusal with this code and at least these fields. */
  readonly refuses: (code: CodeOf<R>, partial?: Partial<R>) => void
}

/** The codes that a union of refusals can carry. */
type CodeOf<R> = R extends { readonly code: infer C } ? C : never

interface DeciderSpec<C, E extends Fact, R extends Fact> {
  readonly when: (command: C & DecisionStamp) => CommandExpectations<E, R>
}

/** Begins a specification with the state that these facts fold to. */
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
          // A message for people is a sentence.
          if ("message" in answer) expect(answer.message).toMatch(/^[A-Z].+\.$/)
        }),
      }
    },
  }
}

/** Folds facts to a state. Copies each fact, so that tests cannot share state. */
export function foldFacts<C, S, E extends Fact, R extends Fact>(
  decider: Decider<C, S, E, R>,
  ...facts: readonly E[]
): S {
  return facts.reduce(
    (state, fact) => decider.evolve(state, structuredClone(fact)),
    decider.initial(),
  )
}

/** A decider with state: `ask` executes a command and returns its facts or the code of a refusal. */
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
  expect(
    decideStamped(decider, command, state),
    "the same decision again, because it is pure",
  ).toEqual(first)
  expect(command, "the command is not modified").toEqual(before)
  return first
}

function nameOf(command: unknown): string {
  const named = command as { readonly type?: unknown }
  return typeof named.type === "string" ? named.type : "the command"
}
