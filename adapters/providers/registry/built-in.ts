/**
 * The built-in registry: it takes everything, and nobody reviews it: an operator answers, or `confirm` does
 * in test mode. What it does next can be set (`simulator set registration …`).
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { SimulatorMemory, Simulators, Simulator } from "../simulators/port.ts"
import type { Registry, Review, SubmitAnswer, AskedSubmission } from "./port.ts"

const SLOW_MS = 2_000
const UNKNOWN_IS_NO_AFTER_MS = 10 * 60_000

/** What is remembered of something that was sent, by its submission, or of a number. */
interface Known {
  readonly review: Review
  readonly companyId: CompanyId
  /** Whether it waits for the code that a real one would text. */
  readonly needsCode: boolean
}

/** What the built-in registry works with. */
interface BuiltInRegistryPorts {
  readonly memory: SimulatorMemory
  readonly simulators: Simulators
  readonly pacer: Pacer
}

const REVIEWS: Readonly<Record<string, Review>> = {
  approve: { answer: "approved", reasons: [] },
  reject: { answer: "rejected", reasons: ["The stand-in of the registry was told to reject it."] },
  "action-needed": {
    answer: "action_needed",
    reasons: ["The stand-in of the registry was told to ask for something."],
  },
}

/** What the built-in registry calls a submission. */
const refOf = (submissionId: string) => `builtin-${submissionId}`

/** The built-in registry. Its calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInRegistry({ memory, simulators, pacer }: BuiltInRegistryPorts): Registry {
  const parts = memory.of<Known>({ provider: REGISTRATION.name, kind: "part" })
  const next = async () => {
    const outcome = await simulators.next(REGISTRATION)
    if (outcome === "unavailable") throw new ProviderUnavailable("the registry answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_MS)
    return outcome
  }
  /** What is set for a review is used up by one; looking for news uses up nothing else. */
  const reviewed = async (): Promise<Review> => {
    const set = (await simulators.list()).find(({ name }) => name === REGISTRATION.name)
    const isReview = set !== undefined && REVIEWS[set.outcome] !== undefined
    return (isReview ? REVIEWS[await simulators.next(REGISTRATION)] : undefined) ?? WAITING
  }
  return {
    isBuiltIn: true,
    isRepeatable: true,
    unknownIsNoAfterMs: UNKNOWN_IS_NO_AFTER_MS,
    submit: async (submission) => {
      const { submissionId, companyId, brandType, part, isTest } = submission
      const outcome = await next()
      const needsCode = part === "business" && brandType === "sole_proprietor" && !isTest
      const review = REVIEWS[outcome] ?? (needsCode ? NEEDS_CODE : WAITING)
      const known = await parts.keep(submissionId, companyId, { review, companyId, needsCode })
      if (outcome === "silent") throw new ProviderSilent("the registry did not answer")
      return takenAs(submissionId, known)
    },
    ask: async ({ submissionId, companyId }) => {
      const known = await parts.find(submissionId)
      if (known === null) return { answer: "unknown" }
      if (known.review.answer !== "waiting") return takenAs(submissionId, known)
      const review = await reviewed()
      if (review.answer === "waiting") return takenAs(submissionId, known)
      const kept = await parts.change(submissionId, companyId, (one) =>
        one === null || one.review.answer === "waiting" ? { ...known, review } : one,
      )
      return takenAs(submissionId, kept)
    },
    // Nobody looks at a number here: it can text once its campaign can.
    register: async () => {
      const outcome = await next()
      if (outcome === "silent") throw new ProviderSilent("the registry did not answer")
      return REVIEWS[outcome] ?? APPROVED
    },
    giveCode: async (businessRef, code) => {
      const name = businessRef.replace(/^builtin-/, "")
      const known = await parts.find(name)
      if (known === null || !/^\d{6}$/.test(code)) return false
      if (known.needsCode) {
        const approved = { ...known, review: APPROVED, needsCode: false }
        await parts.change(name, known.companyId, () => approved)
      }
      return true
    },
    // What it remembers goes with the company's rows.
    end: async () => undefined,
    // It calls nobody back.
    read: () => "forged",
  }
}

const NEEDS_CODE: Review = {
  answer: "action_needed",
  reasons: [
    "A code is texted to the sole proprietor; it has to be given back. The stand-in takes any six digits.",
  ],
}
const WAITING: Review = { answer: "waiting" }
const APPROVED: Review = { answer: "approved", reasons: [] }

const takenAs = (submissionId: string, { review }: Known): SubmitAnswer => ({
  answer: "taken",
  ref: refOf(submissionId),
  review,
})

// Two registries as one: what is sent in test mode is of the built-in one, and all else of the real one. So
// a company can try the whole of registration on an installation that reaches carriers.

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

/** What it can be told to do. */
export const REGISTRATION = {
  name: "registration",
  outcomes: ["approve", "reject", "action-needed"],
} as const satisfies Simulator
