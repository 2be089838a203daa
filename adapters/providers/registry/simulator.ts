/**
 * The simulated registry: it accepts everything. An operator reviews submissions, or `confirm` does
 * in test mode. Operators set the next outcomes with `simulator set registration …`.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { SimulatorStore, Simulators, Simulator } from "../simulators/port.ts"
import type { Registry, Review, SubmitAnswer, SubmissionReference } from "./port.ts"

const SLOW_DELAY_MS = 2_000
const NOT_RECEIVED_AFTER_MS = 10 * 60_000

/** A stored submission or number. */
interface SimulatedSubmission {
  readonly review: Review
  readonly companyId: CompanyId
  /** Whether it waits for the code that a real registry would text. */
  readonly needsCode: boolean
}

interface SimulatedRegistryPorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
}

const REVIEWS_BY_OUTCOME: Readonly<Record<string, Review>> = {
  approve: { answer: "approved", reasons: [] },
  reject: { answer: "rejected", reasons: ["The simulated registry is set to reject it."] },
  "action-needed": {
    answer: "action_needed",
    reasons: ["The simulated registry is set to ask for a correction."],
  },
}

const simulatedRefOf = (submissionId: string) => `builtin-${submissionId}`

/**
 * Opens the simulator. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown as the
 * simulator is set.
 */
export function openSimulatedRegistry({
  simulatorMemory: memory,
  simulators,
  pacer,
}: SimulatedRegistryPorts): Registry {
  const submissions = memory.recordsOf<SimulatedSubmission>({
    provider: REGISTRATION_SIMULATOR.name,
    kind: "part",
  })
  const next = async () => {
    const outcome = await simulators.nextOutcome(REGISTRATION_SIMULATOR)
    if (outcome === "unavailable") throw new ProviderUnavailable("the registry answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    return outcome
  }
  /**
   * Uses up the next outcome only if it is a review, so that status checks leave other outcomes
   * alone.
   */
  const nextReview = async (): Promise<Review> => {
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
      const known = await submissions.insertIfAbsent(submissionId, companyId, {
        review,
        companyId,
        needsCode,
      })
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the registry did not answer")
      return takenAnswer(submissionId, known)
    },
    checkStatus: async ({ submissionId, companyId }) => {
      const known = await submissions.find(submissionId)
      if (known === null) return { answer: "unknown" }
      if (known.review.answer !== "waiting") return takenAnswer(submissionId, known)
      const review = await nextReview()
      if (review.answer === "waiting") return takenAnswer(submissionId, known)
      const updated = await submissions.update(submissionId, companyId, (one) =>
        one === null || one.review.answer === "waiting" ? { ...known, review } : one,
      )
      return takenAnswer(submissionId, updated)
    },
    // The simulator reviews no numbers: one can text as soon as its campaign can.
    registerNumber: async () => {
      const outcome = await next()
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the registry did not answer")
      return REVIEWS_BY_OUTCOME[outcome] ?? APPROVED_REVIEW
    },
    verifyCode: async (businessRef, code) => {
      const name = businessRef.replace(/^builtin-/, "")
      const known = await submissions.find(name)
      if (known === null || !/^\d{6}$/.test(code)) return false
      if (known.needsCode) {
        const approved = { ...known, review: APPROVED_REVIEW, needsCode: false }
        await submissions.update(name, known.companyId, () => approved)
      }
      return true
    },
    // The records are deleted with the company's rows.
    endCampaign: async () => undefined,
    // The simulator sends no webhooks.
    readWebhook: () => "forged",
  }
}

const CODE_NEEDED_REVIEW: Review = {
  answer: "action_needed",
  reasons: [
    "A real registry would text a code to the sole proprietor. Enter any six digits to confirm it here.",
  ],
}
const WAITING_REVIEW: Review = { answer: "waiting" }
const APPROVED_REVIEW: Review = { answer: "approved", reasons: [] }

const takenAnswer = (submissionId: string, { review }: SimulatedSubmission): SubmitAnswer => ({
  answer: "taken",
  ref: simulatedRefOf(submissionId),
  review,
})

// Combines two registries: test submissions use the simulator, all others the real registry. So a
// company can try the whole registration on an installation with a real registry.

const SIMULATED_REF = /^builtin-/

/**
 * Combines the registries. `isIdempotent` and `notReceivedAfterMs` are the real registry's, which
 * are stricter.
 */
export function combineRegistries(simulator: Registry, real: Registry): Registry {
  const registryOf = (ref: string | null) => (SIMULATED_REF.test(ref ?? "") ? simulator : real)
  const registryFor = ({ isTest, ref }: Pick<SubmissionReference, "isTest" | "ref">) =>
    isTest ? simulator : registryOf(ref)
  return {
    ...real,
    submit: (submission) => registryFor(submission).submit(submission),
    checkStatus: (submission) => registryFor(submission).checkStatus(submission),
    registerNumber: (registration) =>
      (registration.isTest ? simulator : registryOf(registration.campaignRef)).registerNumber(
        registration,
      ),
    verifyCode: (businessRef, code) => registryOf(businessRef).verifyCode(businessRef, code),
    endCampaign: (submission) => registryFor(submission).endCampaign(submission),
  }
}

/** The simulator's outcomes. */
export const REGISTRATION_SIMULATOR = {
  name: "registration",
  outcomes: ["approve", "reject", "action-needed"],
} as const satisfies Simulator
