/**
 * The two routes that submit a registration and wait for the carriers, with the fee and the job to the
 * registry.
 */
import type { Price } from "../frame/effects/price.ts"
import type { SubmitAnswer } from "../../adapters/providers/registry/port.ts"
import { PRICES_STREAM } from "../../domain/charging/aggregates.ts"
import { RUSHED_CAMPAIGN_ITEM } from "../../domain/charging/items.ts"
import { priceOfItem } from "../../domain/charging/price-book.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import {
  REGISTRATION_AGGREGATE,
  registrationStreamOf,
} from "../../domain/registration/aggregates.ts"
import type { SubmissionId } from "../../domain/registration/ids.ts"
import { parseSubmissionId } from "../../domain/registration/ids.ts"
import type { SubmissionFee } from "../../domain/registration/registration-commands.ts"
import type {
  BrandType,
  RegistrationPart,
  DeliveryFailure,
} from "../../domain/registration/registration-events.ts"
import { BRAND_TYPES } from "../../domain/registration/registration-events.ts"
import type { RegistrationState } from "../../domain/registration/registration-state.ts"
import {
  submissionFeeOf,
  submitRefusal,
  submissionOf,
  countEndedSubmissions,
} from "../../domain/registration/registration-views.ts"
import { effect } from "../frame/effects/effect.ts"
import { paidResource } from "../frame/effects/paid-resource.ts"
import { paidRoute } from "../frame/effects/paid-route.ts"
import { unitPrice } from "../frame/effects/price.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import type { RouteDescription } from "../frame/routes/declare/route.ts"
import { Business } from "./business.ts"
import { campaignProblemsOf } from "./campaign.ts"
import { findTooLongFields } from "./campaign-length-faults.ts"
import { campaignInputsOf, readTextingReplies } from "./campaign-inputs.ts"
import { readDomainOfPages } from "./page-domain.ts"
import { recordReview } from "./reactions/record-review.ts"
import { unsealReasons, sealReasons } from "./review-reasons.ts"
import {
  MISSING_STEPS_MESSAGE,
  missingStepsRefusal,
  registrationRefusal,
} from "./registration-refusals.ts"
import type { SavedRegistration } from "./saved-registration.ts"
import { readSavedRegistration } from "./saved-registration.ts"
import { RegistrationStatus, readRegistrationStatus } from "./registration-status.ts"
import { findSubmissionToCheck, findSubmissionToSend } from "./submissions.ts"
import { z } from "zod"
import type { ZodType } from "zod"

const NOT_RECEIVED_REFUND = {
  amountMicros: null,
  reason: "the carriers did not receive the submission",
}

const submissionReference = (companyId: CompanyId, id: SubmissionId) => ({
  id,
  stream: registrationStreamOf(companyId),
})

const paidSubmission = paidResource({
  prefix: "reg",
  aggregate: REGISTRATION_AGGREGATE,
  resolve: (companyId, resource) => {
    const id = parseSubmissionId(resource)
    return id === null ? null : submissionReference(companyId, id)
  },
  view: (id) => (state: RegistrationState) => submissionOf(state, id),
  status: ({ is, chargeId }) => {
    if (is === "unreached") return { chargeId, charge: NOT_RECEIVED_REFUND, isVoid: true }
    return { chargeId, charge: is === "open" ? "pending" : "settled", isVoid: false }
  },
  abandonCommand: (submissionId) => ({ type: "AbandonSubmission" as const, submissionId }),
  neverBegunReason: "nothing was sent for review",
})

const SUBMIT_TIMEOUT_MS = 10_000

const SubmitPayload = z.object({ submissionId: idSchema(parseSubmissionId), sentAt: z.number() })
type SubmitPayload = z.infer<typeof SubmitPayload>

type Outcome = SubmitAnswer | { readonly answer: "failed"; readonly why: DeliveryFailure }
const DISCARDED: Outcome = { answer: "failed", why: "discarded" }

const submitPartJobs = effect({
  kind: "submit-part",
  checkKind: "ask-part",
  isAwaited: true,
  payload: SubmitPayload,
  provider: "the registry",
  label: "this registration",
  missingReason: "no such submission exists",
  timeoutMs: SUBMIT_TIMEOUT_MS,
  isDiscardedOnErasure: true,
  on: {
    PartSubmitted: ({ submissionId, at: sentAt }) => [
      { name: submissionId, payload: { submissionId, sentAt }, dueAt: sentAt },
    ],
  },
  startedAt: ({ sentAt }) => sentAt,
  checkStatus: (ports, { companyId, payload: { submissionId } }, cause) =>
    paidSubmission.checkStatus(
      ports,
      companyId,
      submissionReference(companyId, submissionId),
      cause,
    ),
  callProvider: async (ports, { companyId, payload: { submissionId } }): Promise<Outcome> => {
    const sent = await findSubmissionToSend(ports, companyId, submissionId)
    if (sent === null) return DISCARDED
    return ports.registry.submit(sent)
  },
  checkProvider: async (ports, { companyId, payload: { submissionId } }) => {
    const reference = await findSubmissionToCheck(ports, companyId, submissionId)
    if (reference === null) return DISCARDED
    const known = await ports.registry.checkStatus(reference)
    return known.answer === "unknown" ? "unknown" : known
  },
  isIdempotent: ({ registry }) => registry.isIdempotent,
  recordOutcome: async (ports, { companyId, payload: { submissionId } }, answer, cause) => {
    await recordAnswer(ports, companyId, submissionId, answer, cause)
    const at = submissionReference(companyId, submissionId)
    return (await paidSubmission.checkStatus(ports, companyId, at, cause)) === "ended"
  },
  // The caller learns of the failure immediately and may retry; the fee is refunded.
  unavailableOutcome: { answer: "failed", why: "unavailable" },
  times: { retryUnavailableForMs: 0 },
  notReceivedOutcome: async ({ registry, clock }, { payload: { sentAt } }) => {
    const isNo = clock.now() - sentAt >= registry.notReceivedAfterMs
    return isNo ? { answer: "failed" as const, why: "unavailable" as const } : null
  },
  discardedOutcome: DISCARDED,
})

async function recordAnswer(
  ports: Pick<Ports, "log" | "runner" | "sealing">,
  companyId: CompanyId,
  submissionId: SubmissionId,
  answer: Outcome,
  cause: Cause,
): Promise<void> {
  const stream = registrationStreamOf(companyId)
  if (answer.answer === "taken") {
    const markReceived = { type: "MarkPartReceived" as const, submissionId, carrierRef: answer.ref }
    const view = (state: RegistrationState) => submissionOf(state, submissionId)
    const done = await ports.runner.execute(stream, markReceived, cause, view)
    if (done.accepted && done.facts.length > 0)
      logRushRequest(ports, companyId, submissionId, done.view)
    const reviewed = { type: "ReviewPart" as const, submissionId }
    return recordReview(ports, companyId, reviewed, answer.review, cause)
  }
  const isRefused = answer.answer === "not_taken"
  const why = isRefused ? "rejected" : answer.why
  const reasons = isRefused ? await sealReasons(ports, companyId, answer.reasons) : []
  const markUndeliverable = {
    type: "MarkPartUndeliverable" as const,
    submissionId,
    cause: why,
    reasons,
  }
  await ports.runner.execute(stream, markUndeliverable, cause)
}

/** No registry accepts rush through its API, so the operator must ask for it. */
function logRushRequest(
  { log }: Pick<Ports, "log">,
  companyId: CompanyId,
  submissionId: SubmissionId,
  sent: ReturnType<typeof submissionOf>,
): void {
  if (sent?.rush !== true || !sent.live) return
  log.warn("a company paid for a rush review: ask the registry to review its campaign sooner", {
    companyId,
    submissionId,
  })
}

/** The registry's ten seconds, plus our own work. */
const REQUEST_TIMEOUT_MS = 12_000

const SubmitBusiness = z.object({
  brandType: z.enum(BRAND_TYPES).describe("The volume of texts, or the kind of sender"),
  live: z
    .boolean()
    .default(false)
    .describe("Whether this is a real, paid review, which ends test mode and its test results"),
})

const SubmitCampaign = z.object({
  rush: z
    .boolean()
    .default(false)
    .describe("Whether the campaign is reviewed sooner, for an additional fee"),
})

interface Draft {
  readonly companyId: CompanyId
  readonly part: RegistrationPart
  /** Null for a campaign. */
  readonly brandType: BrandType | null
  readonly live: boolean
  readonly rush: boolean
}

const CARRIERS_UNAVAILABLE =
  "The carriers could not be reached; nothing was charged. Try again later."
const CARRIERS_REJECTED = "The carriers rejected the submission; nothing was charged: "

/** Faults of a business under today's rules: it may have been saved under older ones. */
function businessFaultsOf(
  business: SavedRegistration["business"],
): Readonly<Record<string, string>> | null {
  const { error } = Business.nullable().safeParse(business)
  if (error === undefined) return null
  return Object.fromEntries(error.issues.map(({ path, message }) => [path.join("."), message]))
}

/** The refusal of a campaign that a reviewer would reject, before its fee is paid; null if there is none. */
async function findCampaignRefusal(
  ports: Pick<Ports, "baseUrl" | "hostnames" | "runner" | "sealing">,
  companyId: CompanyId,
  saved: SavedRegistration,
): Promise<{ readonly refusal: Refusal } | null> {
  const ready = campaignInputsOf(ports, saved)
  if (ready === null || saved.campaign === null) return null
  const domain = await readDomainOfPages(ports, companyId, ready.pages)
  // The pages passed, but their host name no longer points here.
  if (domain !== null && domain.status !== "live")
    return { refusal: missingStepsRefusal(["pages_check"]) }
  const { helpReply } = await readTextingReplies(ports, companyId)
  const tooLong = await findTooLongFields(ports, companyId, saved.campaign, helpReply)
  if (tooLong.length > 0) {
    const fields = Object.fromEntries(tooLong.map(({ field, message }) => [field, message]))
    return { refusal: invalidRefusal(fields) }
  }
  const problems = campaignProblemsOf(
    saved.campaign,
    ready.business,
    ready.addresses,
    saved.brandType,
  )
  if (problems.length === 0) return null
  const reasons = problems.map(({ field, message }) => `${field}: ${message}`)
  const message = `A reviewer would reject this campaign, so nothing was charged. ${reasons.join(" ")}`
  return { refusal: refusal("conflict", message, { reasons }) }
}

function rejectedRefusal(reasons: readonly string[]): Refusal {
  return refusal("conflict", `${CARRIERS_REJECTED}${reasons.join(" ")}`, { reasons })
}

const unavailableRefusal = (): Refusal => ({
  ...refusal("unavailable", CARRIERS_UNAVAILABLE),
  headers: { "retry-after": "60" },
})

const submissionRoute = <B extends object>(
  described: Pick<RouteDescription, "name" | "url" | "summary" | "example" | "specGap"> & {
    readonly body: ZodType<B>
  },
  toDraft: (body: B) => Omit<Draft, "companyId">,
) =>
  paidRoute({
    method: "POST",
    group: "phone",
    operation: "phone.registration.submit",
    roles: ["owner", "admin"],
    roleRefusalCode: "role",
    isCounted: true,
    accountRequirement: "managed",
    reply: RegistrationStatus,
    refusalCodes: ["conflict", "unavailable", "role"],
    refusalMessages: { conflict: MISSING_STEPS_MESSAGE, unavailable: CARRIERS_UNAVAILABLE },
    readStreams: [registrationStreamOf, phoneStreamOf],
    ...described,

    paidResource: paidSubmission,
    jobs: submitPartJobs,
    refundReason: "nothing was sent for review",
    draft: async (_ports, { companyId }, { body }): Promise<Draft> => ({
      companyId,
      ...toDraft(body),
    }),
    shared: async ({ runner }, { companyId }) =>
      String(await runner.read(registrationStreamOf(companyId), countEndedSubmissions)),
    prepare: async (ports, draft) => {
      const { companyId, part } = draft
      const fault = await ports.runner.read(registrationStreamOf(companyId), (state) =>
        submitRefusal(state, draft),
      )
      if (fault !== null) return { refusal: registrationRefusal(fault) }
      const saved = await readSavedRegistration(ports, companyId)
      const faults = businessFaultsOf(saved.business)
      if (faults !== null) return { refusal: invalidRefusal(faults) }
      return part === "business" ? {} : ((await findCampaignRefusal(ports, companyId, saved)) ?? {})
    },
    price: async (ports, draft) => {
      const kind = await ports.runner.read(registrationStreamOf(draft.companyId), (state) =>
        submissionFeeOf(state, draft),
      )
      if (kind === "none") return "free"
      const { brandType } = draft
      return brandType === null ? campaignFee(ports, kind) : businessFee(ports, brandType)
    },
    command: async (_ports, { spender }, draft, { id: submissionId, chargeId, item }) => ({
      type: "SubmitPart" as const,
      part: draft.part,
      submissionId,
      brandType: draft.brandType,
      live: draft.live,
      rush: draft.rush,
      fee: feeCharged(item),
      chargeId: item === null ? null : chargeId,
      keyId: spender.keyId,
      personId: spender.personId,
    }),
    toRefusal: (refused) => {
      // The fee was refunded in the meantime, or has changed: try again.
      const mayRetry = refused.code === "abandoned" || refused.code === "fee"
      return mayRetry ? null : registrationRefusal(refused)
    },
    outcomeWait: {
      timeoutMs: REQUEST_TIMEOUT_MS,
      payload: (submissionId, sentAt) => ({ submissionId, sentAt }),
      // The outcome is unknown until the registry is asked again, so the part is shown as waiting.
      interimReply: async (ports, { companyId }) => ({
        reply: await readRegistrationStatus(ports, companyId),
      }),
    },
    answer: async (ports, { companyId }, _id, { view }) => {
      if (view.is === "open") return null
      if (view.is !== "unreached") return { reply: await readRegistrationStatus(ports, companyId) }
      const reasons = await unsealReasons(ports, companyId, view.reasons)
      return {
        refusal: view.cause === "rejected" ? rejectedRefusal(reasons) : unavailableRefusal(),
      }
    },
  })

/** Sends the business for review and charges its fee. */
export const submitBusiness = submissionRoute(
  {
    name: "submitBusiness",
    url: "/api/v1/phone/registration/business",
    summary: "Send the business for review and pay its fee",
    example: { body: { brandType: "low_volume" } },
    body: SubmitBusiness,
    specGap:
      "The specification does not show the method: POST, because it sends a submission. A submission that carriers did not receive " +
      "is refunded: 503 if they could not be reached, 409 with `reasons` if they rejected it. " +
      "Identical requests at the same time are sent once and share one charge.",
  },
  ({ brandType, live }) => ({ part: "business", brandType, live, rush: false }),
)

/** Sends the campaign for review and charges its fee. */
export const submitCampaign = submissionRoute(
  {
    name: "submitCampaign",
    url: "/api/v1/phone/registration",
    summary: "Send the campaign for review and pay its fee, including rush",
    example: { body: { rush: false } },
    body: SubmitCampaign,
    specGap:
      "The specification does not show the method: POST, because it sends a submission. It requires that the pages " +
      "have passed their check.",
  },
  ({ rush }) => ({ part: "campaign", brandType: null, live: false, rush }),
)

function feeCharged(item: string | null): SubmissionFee {
  if (item === null) return "none"
  if (item === RUSHED_CAMPAIGN_ITEM) return "fee_with_rush"
  return item === "campaign_rush" ? "rush" : "fee"
}

/** The fee of a business review. */
export function businessFee(ports: Pick<Ports, "runner">, brandType: BrandType): Promise<Price> {
  return unitPrice(ports, `brand_fee_${brandType}`)
}

/** The fee of a campaign review; with rush both fees are one charge (docs/decisions/registration.md). */
export async function campaignFee(
  ports: Pick<Ports, "runner">,
  kind: Exclude<SubmissionFee, "none">,
): Promise<Price> {
  if (kind !== "fee_with_rush") {
    return unitPrice(ports, kind === "fee" ? "campaign_fee" : "campaign_rush")
  }
  return ports.runner.read(PRICES_STREAM, (book) => {
    const { unitPriceMicros: fee, priceVersion } = priceOfItem(book, "campaign_fee")
    const unitPriceMicros = fee + priceOfItem(book, "campaign_rush").unitPriceMicros
    const of = { unitPriceMicros, priceVersion, amountMicros: unitPriceMicros }
    return { item: RUSHED_CAMPAIGN_ITEM, quantity: 1, ...of }
  })
}
