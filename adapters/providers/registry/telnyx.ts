/**
 * Telnyx as a registry (its 10DLC API and toll-free verification). It takes one brand twice as two, so
 * nothing is sent twice; what became of it is asked by our own id, which stands in the address of its news.
 */
import type { TelnyxClient } from "../telnyx/client.ts"
import { openTelnyxClient, telnyxUnavailable, parseTelnyxAnswer } from "../telnyx/client.ts"
import type { SignedMessage } from "../telnyx/webhook-signature.ts"
import { openTelnyxWebhookReader, TelnyxEvent } from "../telnyx/webhook-signature.ts"
import type { Registry, NumberRegistration, Review, RegistryEvent } from "./port.ts"
import type { WebhookAddressing, RegistryWebhookTarget } from "./telnyx-schemas.ts"
import {
  TelnyxNumberAssignment,
  parseRegistryWebhookTarget,
  assignmentReview,
  rejectedSubmission,
} from "./telnyx-schemas.ts"
import type { TelnyxRegistryPorts } from "./telnyx-brands.ts"
import { telnyxBrands } from "./telnyx-brands.ts"
import { telnyxCampaigns } from "./telnyx-campaigns.ts"
import { verifyTollFreeNumber } from "./telnyx-toll-free.ts"
import { z } from "zod"

const ASSIGNMENTS_PATH = "/10dlc/phone_number_campaigns"

const isInCampaign = (
  { telnyxCampaignId, campaignId }: TelnyxNumberAssignment,
  campaignRef: string,
) => telnyxCampaignId === campaignRef || campaignId === campaignRef

/** As for texts: what its lists do not show by then it never got. */
const NOT_RECEIVED_AFTER_MS = 30 * 60_000

/** How Telnyx is reached, and reaches us. */
interface TelnyxRegistrySettings extends WebhookAddressing {
  readonly key: string
  /** The account's, in base64: what it calls back is signed by it. */
  readonly publicKey: string
  /** With the version in its path. */
  readonly url: string
}

/**
 * Opens the adapter. It calls nobody before it is asked something; its calls throw ProviderUnavailable and
 * ProviderOutcomeUnknown.
 */
export function openTelnyxRegistry(settings: TelnyxRegistrySettings): Registry {
  const { key, publicKey, url, baseUrl, keyedHash } = settings
  const ports = { telnyx: openTelnyxClient({ key, url }), addressing: { baseUrl, keyedHash } }
  const brands = telnyxBrands(ports)
  const campaigns = telnyxCampaigns(ports)
  return {
    isSimulator: false,
    isIdempotent: false,
    notReceivedAfterMs: NOT_RECEIVED_AFTER_MS,
    ...telnyxNumberRegistration(ports),
    ...telnyxRegistryWebhooks(openTelnyxWebhookReader(publicKey), ports.addressing),
    submit: (submission) =>
      submission.part === "business" ? brands.submit(submission) : campaigns.submit(submission),
    checkStatus: (asked) => (asked.part === "business" ? brands.ask(asked) : campaigns.ask(asked)),
    verifyCode: brands.giveCode,
    endCampaign: campaigns.end,
  }
}

/** The part of the registry that is about numbers. */
function telnyxNumberRegistration(ports: TelnyxRegistryPorts): Pick<Registry, "registerNumber"> {
  return {
    registerNumber: (registration) =>
      registration.kind === "toll_free"
        ? verifyTollFreeNumber(ports, registration)
        : assignNumber(ports.telnyx, registration),
  }
}

async function assignNumber(
  telnyx: TelnyxClient,
  { number, campaignRef }: NumberRegistration,
): Promise<Review> {
  const known = await findAssignment(telnyx, number)
  if (known !== null && isInCampaign(known, campaignRef)) return assignmentReview(known)
  const body = { phoneNumber: number, campaignId: campaignRef }
  const set = await telnyx.request(
    known === null
      ? { method: "POST", path: ASSIGNMENTS_PATH, body }
      : { method: "PUT", path: `${ASSIGNMENTS_PATH}/${encodeURIComponent(number)}`, body },
  )
  if (set.outcome === "done")
    return assignmentReview(parseTelnyxAnswer(TelnyxNumberAssignment, set.value))
  const { reasons } = rejectedSubmission("the number", set)
  // Somebody else may have put it there in between.
  const after = await findAssignment(telnyx, number)
  if (after !== null && isInCampaign(after, campaignRef)) return assignmentReview(after)
  return { answer: "rejected", reasons }
}

async function findAssignment(
  telnyx: TelnyxClient,
  number: string,
): Promise<TelnyxNumberAssignment | null> {
  const path = `${ASSIGNMENTS_PATH}/${encodeURIComponent(number)}`
  const found = await telnyx.request({ method: "GET", path })
  if (found.outcome === "done") return parseTelnyxAnswer(TelnyxNumberAssignment, found.value)
  if (found.status === 404) return null
  throw telnyxUnavailable("a look at a number", found)
}

// What Telnyx tells of registrations, read. Nothing of a body is believed but what it is about: that is
// asked about.

/** Where Telnyx says that it sends this: it is signed, which the address that was called is not. */
const DeliveryMeta = z.object({ meta: z.object({ delivered_to: z.string() }) })

/** The reading of what is called back. Whatever is signed and says nothing to us is no event. */
function telnyxRegistryWebhooks(
  signedIn: ReturnType<typeof openTelnyxWebhookReader>,
  addressing: Pick<WebhookAddressing, "keyedHash">,
): Pick<Registry, "readWebhook"> {
  return {
    readWebhook: (call, now) => {
      const signed = signedIn(call, now)
      const place = parseRegistryWebhookTarget(addressing, call.target)
      if (signed === null || place === null || !isDeliveredTo(signed.body, place)) return "forged"
      const told = parseEvent(signed.body)
      const { signedAt } = signed
      // What has no id of its own is named by its signature, which is one of a kind too.
      const id = told?.id ?? call.header("telnyx-signature-ed25519") ?? ""
      if (place.kind === "numbers") {
        // In which form toll-free numbers are told of is not promised.
        const event = { type: "numbers_news", companyId: place.companyId } as const
        return { signedAt, events: [{ id, event }] }
      }
      const event = told === null ? null : toRegistryEvent(told.type, place)
      return { signedAt, events: event === null ? [] : [{ id, event }] }
    },
  }
}

/** An event without the `data` around it, and one that is nothing but its payload. */
const BareEvent = TelnyxEvent.shape.data.partial({ payload: true })
const EventPayload = z.object({
  brandId: z.string().optional(),
  campaignId: z.string().optional(),
  phoneNumber: z.string().optional(),
})

/** An event in any of the forms in which Telnyx sends them; null where it is about no registration. */
function parseEvent(said: unknown): { readonly id: string | null; readonly type: string } | null {
  const event = TelnyxEvent.safeParse(said).data?.data ?? BareEvent.safeParse(said).data
  if (event !== undefined) return { id: event.id, type: event.event_type }
  const flat = EventPayload.safeParse(said).data ?? {}
  if (flat.phoneNumber !== undefined) return { id: null, type: "10dlc.phone_number.update" }
  if (flat.campaignId !== undefined) return { id: null, type: "10dlc.campaign.update" }
  return flat.brandId === undefined ? null : { id: null, type: "10dlc.brand.update" }
}

function isDeliveredTo(said: SignedMessage["body"], { path }: RegistryWebhookTarget): boolean {
  const to = DeliveryMeta.safeParse(said).data?.meta.delivered_to
  return to === undefined || (to.split("?")[0] ?? "").endsWith(path)
}

function toRegistryEvent(
  type: string,
  { companyId, submissionId }: Extract<RegistryWebhookTarget, { readonly kind: "part" }>,
): RegistryEvent | null {
  switch (type) {
    case "10dlc.brand.update":
    case "10dlc.campaign.update":
      return { type: "part_news", companyId, submissionId }
    case "10dlc.phone_number.update":
      // Of numbers it is told where its campaign is.
      return { type: "numbers_news", companyId }
    default:
      return null
  }
}
