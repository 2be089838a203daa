/** Handing a business or a campaign to the registry, and finding out what became of it. */
import { z } from "zod"
import type { SubmitAnswer } from "../../../adapters/providers/registry/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { registrationOf } from "../../../domain/registration/aggregates.ts"
import type { SubmissionId } from "../../../domain/registration/ids.ts"
import { parseSubmissionId } from "../../../domain/registration/ids.ts"
import type { Unreached } from "../../../domain/registration/registration-events.ts"
import type { Registration } from "../../../domain/registration/registration-state.ts"
import { submissionOf } from "../../../domain/registration/registration-views.ts"
import { endCharge } from "../../frame/effects/charge-ends.ts"
import { effect } from "../../frame/effects/effect.ts"
import type { Reconciled } from "../../frame/effects/reconcile.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { sealedReasons } from "../reasons.ts"
import { askedSubmission, submissionAsSent } from "../submissions.ts"
import { recordReview } from "./record-review.ts"

/** The kind of its rows. */
export const SUBMIT_PART = "submit-part"
/** What the charge of a review names begins with this. */
export const SUBMISSION_PREFIX = "reg"

const WITHIN_MS = 10_000

const Payload = z.object({ submissionId: idSchema(parseSubmissionId), sentAt: z.number() })
type Payload = z.infer<typeof Payload>

type Answer = SubmitAnswer | { readonly answer: "failed"; readonly why: Unreached }

/** The reactions that hand parts over. */
export const submitPart = effect<Payload, Answer>({
  kind: SUBMIT_PART,
  askKind: "ask-part",
  payload: Payload,
  provider: "the registry",
  about: "this registration",
  unknownTo: "nobody sent this part",
  withinMs: WITHIN_MS,
  endsWithCompany: true,
  from: {
    PartSubmitted: ({ submissionId, at }) => [
      { name: submissionId, payload: { submissionId, sentAt: at }, dueAt: at },
    ],
  },
  begunAt: ({ sentAt }) => sentAt,
  look: (ports, { companyId, payload: { submissionId } }, cause) =>
    settleSubmission(ports, companyId, submissionId, cause),
  act: async (ports, { companyId, payload: { submissionId } }) => {
    const submission = await submissionAsSent(ports, companyId, submissionId)
    if (submission === null) return { answer: "failed", why: "discarded" }
    return ports.registry.submit(submission)
  },
  ask: async (ports, { companyId, payload: { submissionId } }) => {
    const asked = await askedSubmission(ports, companyId, submissionId)
    if (asked === null) return { answer: "failed", why: "discarded" }
    const known = await ports.registry.ask(asked)
    return known.answer === "unknown" ? "unknown" : known
  },
  isRepeatable: ({ registry }) => registry.isRepeatable,
  end: async (ports, { companyId, payload: { submissionId } }, answer, cause) => {
    await recordAnswer(ports, companyId, submissionId, answer, cause)
    return (await settleSubmission(ports, companyId, submissionId, cause)) === "ended"
  },
  // Whoever asked is told at once, and may ask again: nothing is paid that nobody got.
  unavailable: { answer: "failed", why: "unavailable" },
  times: { unavailableForMs: 0 },
  unknown: async ({ registry, clock }, { payload: { sentAt } }) => {
    const isNo = clock.now() - sentAt >= registry.unknownIsNoAfterMs
    return isNo ? { answer: "failed", why: "unavailable" } : null
  },
  givenUp: { answer: "failed", why: "discarded" },
})

async function recordAnswer(
  ports: Ports,
  companyId: CompanyId,
  submissionId: SubmissionId,
  answer: Answer,
  cause: Cause,
): Promise<void> {
  const stream = registrationOf(companyId)
  if (answer.answer === "taken") {
    const reach = { type: "ReachPart" as const, submissionId, carrierRef: answer.ref }
    const view = (state: Registration) => submissionOf(state, submissionId)
    const done = await ports.runner.execute(stream, reach, cause, view)
    if (done.accepted && done.facts.length > 0)
      tellOfRush(ports, companyId, submissionId, done.view)
    const reviewed = { type: "AnswerPart" as const, submissionId }
    return recordReview(ports, companyId, reviewed, answer.review, cause)
  }
  const isRefused = answer.answer === "not_taken"
  const why = isRefused ? "rejected" : answer.why
  const reasons = isRefused ? await sealedReasons(ports, companyId, answer.reasons) : []
  const unreach = { type: "UnreachPart" as const, submissionId, cause: why, reasons }
  await ports.runner.execute(stream, unreach, cause)
}

/** No registry takes rush by itself: whoever runs the installation asks for it. */
function tellOfRush(
  { log }: Pick<Ports, "log">,
  companyId: CompanyId,
  submissionId: SubmissionId,
  sent: ReturnType<typeof submissionOf>,
): void {
  if (sent?.rush !== true || !sent.live) return
  log.info("a company pays for its campaign to be reviewed sooner: ask the registry for that", {
    companyId,
    submissionId,
  })
}

/** Closes the fee of what the carriers have, and gives back that of what they never took. */
async function settleSubmission(
  ports: Ports,
  companyId: CompanyId,
  submissionId: SubmissionId,
  cause: Cause,
): Promise<"open" | "ended" | "not there"> {
  const known = await ports.runner.read(registrationOf(companyId), (state) =>
    submissionOf(state, submissionId),
  )
  if (known === null) return "not there"
  if (known.is === "open") return "open"
  if (known.chargeId === null) return "ended"
  const failed = { amountMicros: null, reason: "the carriers did not get what was to be reviewed" }
  const back = known.is === "unreached" ? failed : null
  await endCharge(ports, companyId, known.chargeId, back, cause)
  return "ended"
}

/** What the reconciler does with the fee of a review. */
export const reconciledSubmission: Reconciled = {
  prefix: SUBMISSION_PREFIX,
  streamOf: (companyId) => registrationOf(companyId).stream,
  neverBegun: "nothing was sent for review",
  abandon: async (ports, { companyId, resource }, cause) => {
    const submissionId = parseSubmissionId(resource)
    if (submissionId === null) throw new Error(`${resource} is no submission`)
    const abandon = { type: "AbandonSubmission" as const, submissionId }
    await ports.runner.execute(registrationOf(companyId), abandon, cause)
    const state = await settleSubmission(ports, companyId, submissionId, cause)
    if (state === "not there") return "never begun"
    return state === "open" ? "open" : "ended"
  },
}
