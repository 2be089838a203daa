/**
 * `POST /api/v1/phone/registration/business` and `POST /api/v1/phone/registration`: charge the fee, send for
 * review, wait until the carriers have it; `reactions/submit-part.ts` hands it over.
 */
import { z } from "zod"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import type { SubmissionId } from "../../domain/registration/ids.ts"
import type { BrandType, Part } from "../../domain/registration/registration-events.ts"
import { BRAND_TYPES } from "../../domain/registration/registration-events.ts"
import type { Registration } from "../../domain/registration/registration-state.ts"
import {
  feeOf,
  mayBeSent,
  submissionOf,
  submissionsEnded,
} from "../../domain/registration/registration-views.ts"
import { causeOf } from "../frame/routes/call.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { invalid } from "../frame/routes/checks/7-values.ts"
import type { Checked } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { charged } from "../frame/effects/charged.ts"
import type { Outcome, Price } from "../frame/effects/charged-spec.ts"
import type { Ports } from "../frame/ports.ts"
import { Business } from "./business.ts"
import { tooLongToSend } from "./carrier-faults.ts"
import { openedReasons } from "./reasons.ts"
import { SUBMISSION_PREFIX, SUBMIT_PART } from "./reactions/submit-part.ts"
import { problemsOf } from "./campaign.ts"
import { readyOf, repliesOf } from "./drafts.ts"
import { domainOfPages } from "./page-domain.ts"
import { COMES_FIRST, missingFirst, registrationRefusal } from "./refused.ts"
import type { Saved } from "./saved.ts"
import { savedOf } from "./saved.ts"
import { RegistrationStatus, registrationStatus } from "./status.ts"
import { PRICES } from "../../domain/charging/aggregates.ts"
import { RUSHED_CAMPAIGN } from "../../domain/charging/items.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import type { Fee } from "../../domain/registration/registration-commands.ts"
import { priceOfOne } from "../frame/effects/price-of-one.ts"

/** The registry's ten seconds, and what stands around them. */
const WITHIN_MS = 12_000

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

/** What both have in common. */
const submitting = <B extends object>(
  part: Part,
  asked: (body: B) => Omit<Draft, "companyId" | "part">,
) =>
  charged<Checked<B>, Draft, object, RegistrationStatus, typeof SUBMISSION_PREFIX>({
    prefix: SUBMISSION_PREFIX,
    undone: "nothing was sent for review",
    one: async ({ runner }, { companyId }) =>
      String(await runner.read(registrationOf(companyId), submissionsEnded)),
    draft: async (_ports, { companyId }, { body }) => ({ companyId, part, ...asked(body) }),
    prepare: async (ports, draft) => {
      const { companyId } = draft
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
    resource: (_draft, id) => id,
    intend: async ({ runner }, caller, draft, _prepared, { id, chargeId, item }) => {
      const { companyId, brandType, live, rush } = draft
      const { keyId, personId } = caller.spender
      const command = {
        type: "SubmitPart" as const,
        part,
        submissionId: id,
        brandType,
        live,
        rush,
        fee: feeCharged(item),
        chargeId: item === null ? null : chargeId,
        keyId,
        personId,
      }
      const sent = await runner.execute(registrationOf(companyId), command, causeOf(caller))
      if (sent.accepted) return "found"
      const { code } = sent.refusal
      // It was given back meanwhile, or costs something else by now.
      const isOver = code === "abandoned" || code === "fee"
      return isOver ? "again" : { refusal: registrationRefusal(sent.refusal) }
    },
    begun: async ({ runner }, { companyId }, submissionId) => {
      const known = await runner.read(registrationOf(companyId), (state) =>
        submissionOf(state, submissionId),
      )
      if (known === null) return "no"
      return known.is === "unreached" ? "undone" : "yes"
    },
    reply: (ports, { companyId }) => told(ports, companyId),
    awaits: {
      withinMs: WITHIN_MS,
      work: ({ clock }, { companyId }, _draft, { id: submissionId }) => ({
        kind: SUBMIT_PART,
        name: submissionId,
        subject: submissionId,
        companyId,
        payload: { submissionId, sentAt: clock.now() },
        dueAt: clock.now(),
      }),
      outcome: (ports, _caller, { companyId }, { id }) => outcomeOf(ports, companyId, id),
      // The carriers are asked what became of it: until then it waits.
      soFar: (ports, _caller, { companyId }) => told(ports, companyId),
    },
  })

/** What carriers would not take of a business by today's rules: it may have been saved before them. */
function faultsOfBusiness(business: Saved["business"]): Readonly<Record<string, string>> | null {
  const { error } = Business.nullable().safeParse(business)
  if (error === undefined) return null
  return Object.fromEntries(error.issues.map(({ path, message }) => [path.join("."), message]))
}

/** What a reviewer would refuse of a campaign as it stands, before its fee is paid; null where nothing. */
async function wouldBeRefused(
  ports: Ports,
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

async function told(ports: Ports, companyId: CompanyId) {
  return { reply: await registrationStatus(ports, companyId), position: null }
}

/** What came of sending; null where nobody knows yet. */
async function outcomeOf(
  ports: Ports,
  companyId: CompanyId,
  submissionId: SubmissionId,
): Promise<Outcome<RegistrationStatus> | null> {
  const known = await ports.runner.readLatest(registrationOf(companyId), (state: Registration) =>
    submissionOf(state, submissionId),
  )
  if (known === null || known.is === "open") return null
  if (known.is !== "unreached") return told(ports, companyId)
  const reasons = await openedReasons(ports, companyId, known.reasons)
  return { refusal: known.cause === "rejected" ? notTaken(reasons) : away() }
}

function notTaken(reasons: readonly string[]): Refusal {
  return refusal("conflict", `${NOT_TAKEN}${reasons.join(" ")}`, { reasons })
}

const away = (): Refusal => ({
  ...refusal("unavailable", AWAY),
  headers: { "retry-after": "60" },
})

/** What both routes say of themselves. */
const SUBMITTING = {
  method: "POST",
  group: "phone",
  operation: "phone.registration.submit",
  roles: ["owner", "admin"],
  roleRefusal: "role",
  counted: true,
  account: "managed",
  reply: RegistrationStatus,
  refuses: ["conflict", "unavailable", "role", "spend_limit_reached", "payment_required"],
  says: { conflict: COMES_FIRST, unavailable: AWAY },
  looks: [registrationOf, phoneOf],
} as const

/** Sends the business. */
export const submitBusiness = route({
  ...SUBMITTING,
  name: "submitBusiness",
  url: "/api/v1/phone/registration/business",
  summary: "Send the business for review; its fee is charged now",
  example: { body: { brandType: "low_volume" } },
  body: SubmitBusiness,
  specGap:
    "The specification does not show the verb: POST, because it sends something. What carriers never got " +
    "is given back: 503 where they could not be reached, 409 with `reasons` where they would not take it. " +
    "Identical requests at the same time are sent once and share one charge.",
  ...submitting<z.infer<typeof SubmitBusiness>>("business", ({ brandType, live }) => ({
    brandType,
    live,
    rush: false,
  })),
})

/** Sends the campaign. */
export const submitCampaign = route({
  ...SUBMITTING,
  name: "submitCampaign",
  url: "/api/v1/phone/registration",
  summary: "Send the campaign for review; its fee is charged now, with rush in one charge",
  example: { body: { rush: false } },
  body: SubmitCampaign,
  specGap:
    "The specification does not show the verb: POST, because it sends something. It is sent once the pages " +
    "have passed their check.",
  ...submitting<z.infer<typeof SubmitCampaign>>("campaign", ({ rush }) => ({
    brandType: null,
    live: false,
    rush,
  })),
})

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
