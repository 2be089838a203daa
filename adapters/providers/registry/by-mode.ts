/**
 * Two registries as one: what is sent in test mode is of the built-in one, and all else of the real one. So
 * a company can try the whole of registration on an installation that reaches carriers.
 */
import type { AskedSubmission, Registry } from "./port.ts"

/** What the built-in registry calls what was sent to it. */
const SENT_HERE = /^builtin-/

/**
 * Joins them. What is promised of it is what the real one keeps: a submission is handed over once, and what
 * is unknown is waited for as long as there.
 */
export function byMode(builtIn: Registry, real: Registry): Registry {
  const of = (ref: string | null) => (SENT_HERE.test(ref ?? "") ? builtIn : real)
  const ofAsked = ({ isTest, ref }: Pick<AskedSubmission, "isTest" | "ref">) =>
    isTest ? builtIn : of(ref)
  return {
    ...real,
    submit: (submission) => ofAsked(submission).submit(submission),
    ask: (asked) => ofAsked(asked).ask(asked),
    register: (registration) =>
      (registration.isTest ? builtIn : of(registration.campaignRef)).register(registration),
    giveCode: (businessRef, code) => of(businessRef).giveCode(businessRef, code),
    end: (asked) => ofAsked(asked).end(asked),
  }
}
