/**
 * Telnyx as the registry (10DLC API and toll-free verification). It is not idempotent: the same
 * brand twice becomes two brands. So nothing is sent twice, and status checks find a submission by
 * our id in its webhook address.
 */
import type { TelnyxClient } from "../telnyx/client.ts"
import { openTelnyxClient, telnyxUnavailable, parseTelnyxAnswer } from "../telnyx/client.ts"
import type { SignedMessage } from "../telnyx/webhook-signature.ts"
import { openTelnyxWebhookReader, TelnyxEvent } from "../telnyx/webhook-signature.ts"
import type { Registry, NumberRegistration, Review, RegistryEvent } from "./port.ts"
import type { WebhookAddressing } from "../telnyx/webhook-addressing.ts"
import type { RegistryWebhookTarget } from "./telnyx-schemas.ts"
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

/** A submission that Telnyx's lists do not show by then was never received. */
const NOT_RECEIVED_AFTER_MS = 30 * 60_000

/** The addresses and keys of both directions. */
interface TelnyxRegistrySettings extends WebhookAddressing {
  readonly key: string
  /** The account's public key, in base64; it verifies webhooks. */
  readonly publicKey: string
  /** With the version in its path. */
  readonly url: string
}

/**
 * Opens the adapter; it connects for the first request. Its calls throw ProviderUnavailable and
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
    checkStatus: (submission) =>
      submission.part === "business"
        ? brands.checkStatus(submission)
        : campaigns.checkStatus(submission),
    verifyCode: brands.verifyCode,
    endCampaign: campaigns.endCampaign,
  }
}

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
  const assigned = await telnyx.request(
    known === null
      ? { method: "POST", path: ASSIGNMENTS_PATH, body }
      : { method: "PUT", path: `${ASSIGNMENTS_PATH}/${encodeURIComponent(number)}`, body },
  )
  if (assigned.outcome === "done")
    return assignmentReview(parseTelnyxAnswer(TelnyxNumberAssignment, assigned.value))
  const { reasons } = rejectedSubmission("the number", assigned)
  // Another process may have assigned it meanwhile.
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
  throw telnyxUnavailable("the request for a number", found)
}

// Webhooks are used only as a notification: the status itself is always read from Telnyx.

/**
 * The address that Telnyx says it delivers to. It is part of the signed body, unlike the request's
 * own address.
 */
const DeliveryMeta = z.object({ meta: z.object({ delivered_to: z.string() }) })

/** Reads webhooks. Signed bodies that don't concern us are no events. */
function telnyxRegistryWebhooks(
  readSigned: ReturnType<typeof openTelnyxWebhookReader>,
  addressing: Pick<WebhookAddressing, "keyedHash">,
): Pick<Registry, "readWebhook"> {
  return {
    readWebhook: (call, now) => {
      const signed = readSigned(call, now)
      const target = parseRegistryWebhookTarget(addressing, call.target)
      if (signed === null || target === null || !isDeliveredTo(signed.body, target)) return "forged"
      const parsed = parseEvent(signed.body)
      const { signedAt } = signed
      // An event without an id is identified by its signature, which is unique.
      const id = parsed?.id ?? call.header("telnyx-signature-ed25519") ?? ""
      if (target.kind === "numbers") {
        // The format of toll-free notifications is not documented.
        const event = { type: "numbers_news", companyId: target.companyId } as const
        return { signedAt, events: [{ id, event }] }
      }
      const event = parsed === null ? null : toRegistryEvent(parsed.type, target)
      return { signedAt, events: event === null ? [] : [{ id, event }] }
    },
  }
}

/** An event without the surrounding `data`, and one that is only its payload. */
const BareEvent = TelnyxEvent.shape.data.partial({ payload: true })
const EventPayload = z.object({
  brandId: z.string().optional(),
  campaignId: z.string().optional(),
  phoneNumber: z.string().optional(),
})

/** Parses an event in any of Telnyx's formats; null if it is not about a registration. */
function parseEvent(body: unknown): { readonly id: string | null; readonly type: string } | null {
  const event = TelnyxEvent.safeParse(body).data?.data ?? BareEvent.safeParse(body).data
  if (event !== undefined) return { id: event.id, type: event.event_type }
  const flat = EventPayload.safeParse(body).data ?? {}
  if (flat.phoneNumber !== undefined) return { id: null, type: "10dlc.phone_number.update" }
  if (flat.campaignId !== undefined) return { id: null, type: "10dlc.campaign.update" }
  return flat.brandId === undefined ? null : { id: null, type: "10dlc.brand.update" }
}

function isDeliveredTo(body: SignedMessage["body"], { path }: RegistryWebhookTarget): boolean {
  const to = DeliveryMeta.safeParse(body).data?.meta.delivered_to
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
      // Number events are sent to their campaign's address.
      return { type: "numbers_news", companyId }
    default:
      return null
  }
}
