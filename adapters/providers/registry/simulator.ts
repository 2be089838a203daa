/**
 * The built-in registry: it takes everything, and nobody reviews it: an operator answers, or `confirm` does
 * in test mode. What it does next can be set (`simulator set registration …`).
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { SimulatorStore, Simulators, Simulator } from "../simulators/port.ts"
import type { Registry, Review, SubmitAnswer, SubmissionReference } from "./port.ts"

const SLOW_DELAY_MS = 2_000
const NOT_RECEIVED_AFTER_MS = 10 * 60_000

/** What is remembered of something that was sent, by its submission, or of a number. */
interface SimulatedSubmission {
  readonly review: Review
  readonly companyId: CompanyId
  /** Whether it waits for the code that a real one would text. */
  readonly needsCode: boolean
}

/** What the built-in registry works with. */
interface SimulatedRegistryPorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
}

const REVIEWS_BY_OUTCOME: Readonly<Record<string, Review>> = {
  approve: { answer: "approved", reasons: [] },
  reject: { answer: "rejected", reasons: ["The stand-in of the registry was told to reject it."] },
  "action-needed": {
    answer: "action_needed",
    reasons: ["The stand-in of the registry was told to ask for something."],
  },
}

/** What the built-in registry calls a submission. */
const simulatedRefOf = (submissionId: string) => `builtin-${submissionId}`

/** The built-in registry. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown, as they are set to. */
export function openSimulatedRegistry({
  simulatorMemory: memory,
  simulators,
  pacer,
}: SimulatedRegistryPorts): Registry {
  const parts = memory.recordsOf<SimulatedSubmission>({
    provider: REGISTRATION_SIMULATOR.name,
    kind: "part",
  })
  const next = async () => {
    const outcome = await simulators.nextOutcome(REGISTRATION_SIMULATOR)
    if (outcome === "unavailable") throw new ProviderUnavailable("the registry answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    return outcome
  }
  /** What is set for a review is used up by one; looking for news uses up nothing else. */
  const reviewed = async (): Promise<Review> => {
    const set = (await simulators.list()).find(({ name }) => name === REGISTRATION_SIMULATOR.name)
    const isReview = set !== undefined && REVIEWS_BY_OUTCOME[set.outcome] !== undefined
    return (
      (isReview
        ? REVIEWS_BY_OUTCOME[await simulators.nextOutcome(REGISTRATION_SIMULATOR)]
        : undefined) ?? WAITING_REVIEW
    )
  }
  return {
    isSimulator: true,
    isIdempotent: true,
    notReceivedAfterMs: NOT_RECEIVED_AFTER_MS,
    submit: async (submission) => {
      const { submissionId, companyId, brandType, part, isTest } = submission
      const outcome = await next()
      const needsCode = part === "business" && brandType === "sole_proprietor" && !isTest
      const review =
        REVIEWS_BY_OUTCOME[outcome] ?? (needsCode ? CODE_NEEDED_REVIEW : WAITING_REVIEW)
      const known = await parts.insertIfAbsent(submissionId, companyId, {
        review,
        companyId,
        needsCode,
      })
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the registry did not answer")
      return takenAnswer(submissionId, known)
    },
    checkStatus: async ({ submissionId, companyId }) => {
      const known = await parts.find(submissionId)
      if (known === null) return { answer: "unknown" }
      if (known.review.answer !== "waiting") return takenAnswer(submissionId, known)
      const review = await reviewed()
      if (review.answer === "waiting") return takenAnswer(submissionId, known)
      const kept = await parts.update(submissionId, companyId, (one) =>
        one === null || one.review.answer === "waiting" ? { ...known, review } : one,
      )
      return takenAnswer(submissionId, kept)
    },
    // Nobody looks at a number here: it can text once its campaign can.
    registerNumber: async () => {
      const outcome = await next()
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the registry did not answer")
      return REVIEWS_BY_OUTCOME[outcome] ?? APPROVED_REVIEW
    },
    verifyCode: async (businessRef, code) => {
      const name = businessRef.replace(/^builtin-/, "")
      const known = await parts.find(name)
      if (known === null || !/^\d{6}$/.test(code)) return false
      if (known.needsCode) {
        const approved = { ...known, review: APPROVED_REVIEW, needsCode: false }
        await parts.update(name, known.companyId, () => approved)
      }
      return true
    },
    // What it remembers goes with the company's rows.
    endCampaign: async () => undefined,
    // It calls nobody back.
    readWebhook: () => "forged",
  }
}

const CODE_NEEDED_REVIEW: Review = {
  answer: "action_needed",
  reasons: [
    "A code is texted to the sole proprietor; it has to be given back. The stand-in takes any six digits.",
  ],
}
const WAITING_REVIEW: Review = { answer: "waiting" }
const APPROVED_REVIEW: Review = { answer: "approved", reasons: [] }

const takenAnswer = (submissionId: string, { review }: SimulatedSubmission): SubmitAnswer => ({
  answer: "taken",
  ref: simulatedRefOf(submissionId),
  review,
})

// Two registries as one: what is sent in test mode is of the built-in one, and all else of the real one. So
// a company can try the whole of registration on an installation that reaches carriers.

/** What the built-in registry calls what was sent to it. */
const SIMULATED_REF = /^builtin-/

/**
 * Joins them. What is promised of it is what the real one keeps: a submission is handed over once, and what
 * is unknown is waited for as long as there.
 */
export function combineRegistries(builtIn: Registry, real: Registry): Registry {
  const of = (ref: string | null) => (SIMULATED_REF.test(ref ?? "") ? builtIn : real)
  const ofAsked = ({ isTest, ref }: Pick<SubmissionReference, "isTest" | "ref">) =>
    isTest ? builtIn : of(ref)
  return {
    ...real,
    submit: (submission) => ofAsked(submission).submit(submission),
    checkStatus: (asked) => ofAsked(asked).checkStatus(asked),
    registerNumber: (registration) =>
      (registration.isTest ? builtIn : of(registration.campaignRef)).registerNumber(registration),
    verifyCode: (businessRef, code) => of(businessRef).verifyCode(businessRef, code),
    endCampaign: (asked) => ofAsked(asked).endCampaign(asked),
  }
}

/** What it can be told to do. */
export const REGISTRATION_SIMULATOR = {
  name: "registration",
  outcomes: ["approve", "reject", "action-needed"],
} as const satisfies Simulator
