/**
 * `POST /api/v1/phone/registration/business` and `POST /api/v1/phone/registration`, from top to bottom: what a
 * submission is and what its fee comes to, the job that hands it to the registry, and the two routes, which
 * wait for the carriers.
 */
import type { Price } from "../frame/effects/price.ts"
import type { SubmitAnswer } from "../../adapters/providers/registry/port.ts"
import { PRICES } from "../../domain/charging/aggregates.ts"
import { RUSHED_CAMPAIGN } from "../../domain/charging/items.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { REGISTRATION, registrationOf } from "../../domain/registration/aggregates.ts"
import type { SubmissionId } from "../../domain/registration/ids.ts"
import { parseSubmissionId } from "../../domain/registration/ids.ts"
import type { Fee } from "../../domain/registration/registration-commands.ts"
import type { BrandType, Part, Unreached } from "../../domain/registration/registration-events.ts"
import { BRAND_TYPES } from "../../domain/registration/registration-events.ts"
import type { Registration } from "../../domain/registration/registration-state.ts"
import {
  feeOf,
  mayBeSent,
  submissionOf,
  submissionsEnded,
} from "../../domain/registration/registration-views.ts"
import { effect } from "../frame/effects/effect.ts"
import { paidThing } from "../frame/effects/paid-thing.ts"
import { paid } from "../frame/effects/paid.ts"
import { priceOfOne } from "../frame/effects/price.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { invalid } from "../frame/routes/checks/7-values.ts"
import type { Described } from "../frame/routes/declare/route.ts"
import { Business } from "./business.ts"
import { problemsOf } from "./campaign.ts"
import { tooLongToSend } from "./carrier-faults.ts"
import { readyOf, repliesOf } from "./drafts.ts"
import { domainOfPages } from "./page-domain.ts"
import { recordReview } from "./reactions/record-review.ts"
import { openedReasons, sealedReasons } from "./reasons.ts"
import { COMES_FIRST, missingFirst, registrationRefusal } from "./refused.ts"
import type { Saved } from "./saved.ts"
import { savedOf } from "./saved.ts"
import { RegistrationStatus, registrationStatus } from "./status.ts"
import { askedSubmission, submissionAsSent } from "./submissions.ts"
import { z } from "zod"
import type { ZodType } from "zod"

// What a submission is, and what its fee comes to.

const NOT_GOT = {
  amountMicros: null,
  reason: "the carriers did not get what was to be reviewed",
}

const submissionAt = (companyId: CompanyId, id: SubmissionId) => ({
  id,
  stream: registrationOf(companyId),
})

const submission = paidThing({
  prefix: "reg",
  aggregate: REGISTRATION,
  at: (companyId, resource) => {
    const id = parseSubmissionId(resource)
    return id === null ? null : submissionAt(companyId, id)
  },
  view: (id) => (state: Registration) => submissionOf(state, id),
  standing: ({ is, chargeId }) => {
    if (is === "unreached") return { chargeId, charge: NOT_GOT, isUndone: true }
    return { chargeId, charge: is === "open" ? "pending" : "settled", isUndone: false }
  },
  abandon: (submissionId) => ({ type: "AbandonSubmission" as const, submissionId }),
  neverBegun: "nothing was sent for review",
})

// Handing it to the registry.

const WITHIN_MS = 10_000

const Submitted = z.object({ submissionId: idSchema(parseSubmissionId), sentAt: z.number() })
type Submitted = z.infer<typeof Submitted>

type Outcome = SubmitAnswer | { readonly answer: "failed"; readonly why: Unreached }
const DISCARDED: Outcome = { answer: "failed", why: "discarded" }

const handing = effect({
  kind: "submit-part",
  askKind: "ask-part",
  isAwaited: true,
  payload: Submitted,
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
    submission.look(ports, companyId, submissionAt(companyId, submissionId), cause),
  act: async (ports, { companyId, payload: { submissionId } }): Promise<Outcome> => {
    const sent = await submissionAsSent(ports, companyId, submissionId)
    if (sent === null) return DISCARDED
    return ports.registry.submit(sent)
  },
  ask: async (ports, { companyId, payload: { submissionId } }) => {
    const asked = await askedSubmission(ports, companyId, submissionId)
    if (asked === null) return DISCARDED
    const known = await ports.registry.ask(asked)
    return known.answer === "unknown" ? "unknown" : known
  },
  isRepeatable: ({ registry }) => registry.isRepeatable,
  end: async (ports, { companyId, payload: { submissionId } }, answer, cause) => {
    await recordAnswer(ports, companyId, submissionId, answer, cause)
    const at = submissionAt(companyId, submissionId)
    return (await submission.look(ports, companyId, at, cause)) === "ended"
  },
  // Whoever asked is told at once, and may ask again: nothing is paid that nobody got.
  unavailable: { answer: "failed", why: "unavailable" },
  times: { unavailableForMs: 0 },
  unknown: async ({ registry, clock }, { payload: { sentAt } }) => {
    const isNo = clock.now() - sentAt >= registry.unknownIsNoAfterMs
    return isNo ? { answer: "failed" as const, why: "unavailable" as const } : null
  },
  givenUp: DISCARDED,
})

async function recordAnswer(
  ports: Pick<Ports, "log" | "runner" | "sealing">,
  companyId: CompanyId,
  submissionId: SubmissionId,
  answer: Outcome,
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

// The requests.

/** The registry's ten seconds, and what stands around them. */
const ANSWERED_WITHIN_MS = 12_000

const SubmitBusiness = z.object({
  brandType: z.enum(BRAND_TYPES).describe("How much is texted, or by whom"),
  live: z
    .boolean()
    .default(false)
    .describe("Whether it is meant: a paid review ends test mode, and what was tested"),
})

const SubmitCampaign = z.object({
  rush: z.boolean().default(false).describe("Whether it is reviewed sooner, for a fee"),
})

/** What is sent. */
interface Draft {
  readonly companyId: CompanyId
  readonly part: Part
  /** Of a business; null for a campaign. */
  readonly brandType: BrandType | null
  readonly live: boolean
  readonly rush: boolean
}

const AWAY = "The carriers could not be reached now; nothing was charged. Send it again later."
const NOT_TAKEN = "The carriers did not take it, and nothing was charged: "

/** What carriers would not take of a business by today's rules: it may have been saved before them. */
function faultsOfBusiness(business: Saved["business"]): Readonly<Record<string, string>> | null {
  const { error } = Business.nullable().safeParse(business)
  if (error === undefined) return null
  return Object.fromEntries(error.issues.map(({ path, message }) => [path.join("."), message]))
}

/** What a reviewer would refuse of a campaign as it stands, before its fee is paid; null where nothing. */
async function wouldBeRefused(
  ports: Pick<Ports, "baseUrl" | "hostnames" | "runner" | "sealing">,
  companyId: CompanyId,
  saved: Saved,
): Promise<{ readonly refusal: Refusal } | null> {
  const ready = readyOf(ports, saved)
  if (ready === null || saved.campaign === null) return null
  const domain = await domainOfPages(ports, companyId, ready.pages)
  // They passed, and their host name leads here no longer.
  if (domain !== null && domain.status !== "live") return { refusal: missingFirst(["pages_check"]) }
  const { helpReply } = await repliesOf(ports, companyId)
  const tooLong = await tooLongToSend(ports, companyId, saved.campaign, helpReply)
  if (tooLong.length > 0) {
    const fields = Object.fromEntries(tooLong.map(({ field, message }) => [field, message]))
    return { refusal: invalid(fields) }
  }
  const problems = problemsOf(saved.campaign, ready.business, ready.addresses, saved.brandType)
  if (problems.length === 0) return null
  const reasons = problems.map(({ field, message }) => `${field}: ${message}`)
  const message = `A reviewer would refuse this campaign, so nothing was charged. ${reasons.join(" ")}`
  return { refusal: refusal("conflict", message, { reasons }) }
}

function notTaken(reasons: readonly string[]): Refusal {
  return refusal("conflict", `${NOT_TAKEN}${reasons.join(" ")}`, { reasons })
}

const away = (): Refusal => ({
  ...refusal("unavailable", AWAY),
  headers: { "retry-after": "60" },
})

/** What both routes have in common. */
const submitting = <B extends object>(
  described: Pick<Described, "name" | "url" | "summary" | "example" | "specGap"> & {
    readonly body: ZodType<B>
  },
  asked: (body: B) => Omit<Draft, "companyId">,
) =>
  paid({
    method: "POST",
    group: "phone",
    operation: "phone.registration.submit",
    roles: ["owner", "admin"],
    roleRefusal: "role",
    counted: true,
    account: "managed",
    reply: RegistrationStatus,
    refuses: ["conflict", "unavailable", "role"],
    says: { conflict: COMES_FIRST, unavailable: AWAY },
    looks: [registrationOf, phoneOf],
    ...described,

    thing: submission,
    jobs: handing,
    undone: "nothing was sent for review",
    draft: async (_ports, { companyId }, { body }): Promise<Draft> => ({
      companyId,
      ...asked(body),
    }),
    one: async ({ runner }, { companyId }) =>
      String(await runner.read(registrationOf(companyId), submissionsEnded)),
    prepare: async (ports, draft) => {
      const { companyId, part } = draft
      const fault = await ports.runner.read(registrationOf(companyId), (state) =>
        mayBeSent(state, draft),
      )
      if (fault !== null) return { refusal: registrationRefusal(fault) }
      const saved = await savedOf(ports, companyId)
      const faults = faultsOfBusiness(saved.business)
      if (faults !== null) return { refusal: invalid(faults) }
      return part === "business" ? {} : ((await wouldBeRefused(ports, companyId, saved)) ?? {})
    },
    price: async (ports, draft) => {
      const kind = await ports.runner.read(registrationOf(draft.companyId), (state) =>
        feeOf(state, draft),
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
    rejected: (refused) => {
      // Its fee was refunded in the meantime, or it costs something else by now.
      const isOver = refused.code === "abandoned" || refused.code === "fee"
      return isOver ? null : registrationRefusal(refused)
    },
    awaits: {
      withinMs: ANSWERED_WITHIN_MS,
      payload: (submissionId, sentAt) => ({ submissionId, sentAt }),
      // The carriers are asked what became of it: until then it waits.
      soFar: async (ports, { companyId }) => ({
        reply: await registrationStatus(ports, companyId),
      }),
    },
    answer: async (ports, { companyId }, _id, { view }) => {
      if (view.is === "open") return null
      if (view.is !== "unreached") return { reply: await registrationStatus(ports, companyId) }
      const reasons = await openedReasons(ports, companyId, view.reasons)
      return { refusal: view.cause === "rejected" ? notTaken(reasons) : away() }
    },
  })

/** Sends the business. */
export const submitBusiness = submitting(
  {
    name: "submitBusiness",
    url: "/api/v1/phone/registration/business",
    summary: "Send the business for review; its fee is charged now",
    example: { body: { brandType: "low_volume" } },
    body: SubmitBusiness,
    specGap:
      "The specification does not show the verb: POST, because it sends something. What carriers never got " +
      "is given back: 503 where they could not be reached, 409 with `reasons` where they would not take it. " +
      "Identical requests at the same time are sent once and share one charge.",
  },
  ({ brandType, live }) => ({ part: "business", brandType, live, rush: false }),
)

/** Sends the campaign. */
export const submitCampaign = submitting(
  {
    name: "submitCampaign",
    url: "/api/v1/phone/registration",
    summary: "Send the campaign for review; its fee is charged now, with rush in one charge",
    example: { body: { rush: false } },
    body: SubmitCampaign,
    specGap:
      "The specification does not show the verb: POST, because it sends something. It is sent once the pages " +
      "have passed their check.",
  },
  ({ rush }) => ({ part: "campaign", brandType: null, live: false, rush }),
)

/** What of an attempt's fee was charged as this item; null where it was free. */
function feeCharged(item: string | null): Fee {
  if (item === null) return "none"
  if (item === RUSHED_CAMPAIGN) return "fee_with_rush"
  return item === "campaign_rush" ? "rush" : "fee"
}

/** What a review of a business costs. */
export function businessFee(ports: Pick<Ports, "runner">, brandType: BrandType): Promise<Price> {
  return priceOfOne(ports, `brand_fee_${brandType}`)
}

/** What a review of a campaign costs; with rush both fees are one charge (decisions.md §9). */
export async function campaignFee(
  ports: Pick<Ports, "runner">,
  kind: Exclude<Fee, "none">,
): Promise<Price> {
  if (kind !== "fee_with_rush") {
    return priceOfOne(ports, kind === "fee" ? "campaign_fee" : "campaign_rush")
  }
  return ports.runner.read(PRICES, (book) => {
    const { unitPriceMicros: fee, priceVersion } = priceOf(book, "campaign_fee")
    const unitPriceMicros = fee + priceOf(book, "campaign_rush").unitPriceMicros
    const of = { unitPriceMicros, priceVersion, amountMicros: unitPriceMicros }
    return { item: RUSHED_CAMPAIGN, quantity: 1, ...of }
  })
}
