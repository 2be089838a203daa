/**
 * Telnyx as the carrier (API v2). Texts and orders have no idempotency key, so each is sent once,
 * and status checks find it by our own id, which Telnyx returns. Telnyx replies to keywords itself
 * and refuses texts to people who opted out.
 */
import type { TelnyxClient } from "../telnyx/client.ts"
import { openTelnyxClient, telnyxUnavailable } from "../telnyx/client.ts"
import { openTelnyxWebhookReader, TelnyxEvent } from "../telnyx/webhook-signature.ts"
import type {
  Carrier,
  SentText,
  ReceivedTextRecord,
  ReceivedText,
  CarrierAnswer,
  CarrierTextStatus,
  OutgoingText,
  CarrierEvent,
} from "./port.ts"
import type { WebhookAddressing } from "../telnyx/webhook-addressing.ts"
import {
  TEXT_WEBHOOKS_PATH,
  textWebhookPath,
  textWebhookUrl,
  parseTextWebhookTarget,
  TelnyxDetailRecord,
  TelnyxMessage,
  messageErrorCodes,
  parseTelnyxData,
  TelnyxNumberOrder,
  isUnrelatedRefusal,
  textStatusFromTelnyx,
  textErrorCodeFrom,
} from "./telnyx-schemas.ts"
import { telnyxNumbers } from "./telnyx-numbers.ts"
import type { MessagingProfiles } from "./telnyx-profiles.ts"
import { openMessagingProfiles } from "./telnyx-profiles.ts"
import { z } from "zod"
import { smsEncodingOf, countSegments } from "../../../domain/phone/segments.ts"
import { ProviderOutcomeUnknown } from "../provider-errors.ts"

/** Delay after which the detail records show every text. */
const NOT_RECEIVED_AFTER_MS = 30 * 60_000

/** The addresses and keys of both directions. */
interface TelnyxCarrierSettings extends WebhookAddressing {
  readonly key: string
  readonly publicKey: string
  readonly url: string
  readonly connectionId: string | null
  readonly warn: (message: string, error: unknown) => void
}

/** Opens the adapter; it connects for the first request. */
export function openTelnyxCarrier(settings: TelnyxCarrierSettings): Carrier {
  const { key, publicKey, url, connectionId, warn, baseUrl, keyedHash } = settings
  const telnyx = openTelnyxClient({ key, url })
  const addressing = { baseUrl, keyedHash }
  const profiles = openMessagingProfiles(telnyx, () => `${baseUrl()}${TEXT_WEBHOOKS_PATH}`)
  return {
    isSimulator: false,
    isIdempotent: false,
    hasKeywordReplies: true,
    notReceivedAfterMs: NOT_RECEIVED_AFTER_MS,
    ...telnyxTexts({ telnyx, profiles, addressing, warn }),
    ...telnyxNumbers({ telnyx, profiles, connectionId }),
    ...telnyxWebhooks(openTelnyxWebhookReader(publicKey), addressing),
    setKeywordReplies: (replies) => profiles.setKeywordReplies(replies),
    eraseCompany: (companyId) => profiles.remove(companyId),
  }
}

const PAGE_SIZE = 50
/**
 * Allowance for clock differences: records are searched from this long before a text was queued.
 */
const CLOCK_SKEW_MS = 10 * 60_000
/** Maximum number of pages, enough for a week of records. */
const MAX_PAGES = 2_000

interface TelnyxTextsPorts {
  readonly telnyx: TelnyxClient
  readonly profiles: MessagingProfiles
  readonly addressing: WebhookAddressing
  /** Receives differences between Telnyx's segment count and the charged one. */
  readonly warn: (message: string, error: unknown) => void
}

function telnyxTexts(
  ports: TelnyxTextsPorts,
): Pick<Carrier, "send" | "checkTextStatus" | "receivedSince" | "fetchReceived"> {
  return {
    send: (text) => sendText(ports, text),
    checkTextStatus: (text) => checkTextStatus(ports, text),
    receivedSince: (since) => receivedSince(ports, since),
    fetchReceived: (carrierId) => fetchReceived(ports, carrierId),
  }
}

async function sendText(ports: TelnyxTextsPorts, text: OutgoingText): Promise<CarrierAnswer> {
  const { telnyx, profiles, addressing, warn } = ports
  const { textId, companyId, from, to, body } = text
  const profile = await profiles.profileIdOf(companyId)
  const sent = await telnyx.request({
    method: "POST",
    path: "/messages",
    body: {
      from,
      to,
      text: body,
      type: "SMS",
      encoding: smsEncodingOf(body),
      messaging_profile_id: profile,
      use_profile_webhooks: false,
      webhook_url: textWebhookUrl(addressing, textId),
    },
  })
  if (sent.outcome === "refused") {
    if (isUnrelatedRefusal(sent)) throw telnyxUnavailable("a text message", sent)
    // The profile may be gone: the next text reads it again.
    if (sent.status === 404) profiles.invalidate(companyId)
    return { answer: "rejected", errorCode: textErrorCodeFrom(sent.code) }
  }
  const { id, parts } = parseTelnyxData(TelnyxMessage, sent.value)
  const segments = countSegments(body)
  if (typeof parts === "number" && parts !== segments) {
    warn(
      `Telnyx counts ${parts} segments for ${textId}`,
      new Error(`${segments} segments were charged`),
    )
  }
  return { answer: "accepted", carrierId: id }
}

async function checkTextStatus(
  ports: TelnyxTextsPorts,
  text: SentText,
): Promise<CarrierTextStatus> {
  const { textId, from, to, queuedAt } = text
  const path = textWebhookPath(ports.addressing, textId)
  const filter = { direction: "outbound", cli: from, cld: to }
  for await (const page of listDetailRecords(ports, filter, queuedAt - CLOCK_SKEW_MS)) {
    const row = page.find(({ delivery_status_webhook_url: url }) => url?.endsWith(path) === true)
    const carrierId = row?.uuid ?? null
    if (row === undefined || carrierId === null) continue
    const message = await fetchMessage(ports, carrierId)
    if (message === null)
      return textStatusFromTelnyx(carrierId, row.status ?? null, row.errors ?? [])
    const party = (message.to ?? []).find(({ phone_number: number }) => number === to)
    return textStatusFromTelnyx(carrierId, party?.status ?? null, messageErrorCodes(message))
  }
  return { answer: "unknown" }
}

async function* receivedSince(
  ports: TelnyxTextsPorts,
  since: number,
): AsyncIterable<readonly ReceivedTextRecord[]> {
  for await (const page of listDetailRecords(ports, { direction: "inbound" }, since)) {
    yield page.flatMap(({ uuid, cli, cld }) =>
      uuid && cli && cld ? [{ carrierId: uuid, from: cli, to: cld }] : [],
    )
  }
}

async function fetchReceived(
  ports: TelnyxTextsPorts,
  carrierId: string,
): Promise<readonly ReceivedText[] | null> {
  const message = await fetchMessage(ports, carrierId)
  if (message === null) return null
  // The carrier has already replied to a keyword in it.
  return toReceivedTexts(message).map((text) => ({ ...text, isAutoAnswered: true }))
}

/** A received message, once for each number except its sender's; none if the sender is missing. */
function toReceivedTexts(message: TelnyxMessage): readonly ReceivedText[] {
  const from = message.from?.phone_number ?? null
  if (from === null) return []
  const parties = [...(message.to ?? []), ...(message.cc ?? [])]
  const recipients = parties.map(({ phone_number: number }) => number ?? from)
  const numbers = [...new Set(recipients)].filter((number) => number !== from)
  return numbers.map((to) => ({
    carrierId: message.id,
    isGroupText: numbers.length > 1,
    from,
    to,
    // Databases cannot store lone surrogates.
    body: (message.text ?? "").toWellFormed(),
    mediaCount: message.media?.length ?? 0,
    isAutoAnswered: (message.autoresponse_type ?? null) !== null,
  }))
}

/** A message by Telnyx's id; null if Telnyx no longer has it. */
async function fetchMessage(
  { telnyx }: TelnyxTextsPorts,
  carrierId: string,
): Promise<TelnyxMessage | null> {
  const path = `/messages/${encodeURIComponent(carrierId)}`
  const found = await telnyx.request({ method: "GET", path })
  if (found.outcome === "done") return parseTelnyxData(TelnyxMessage, found.value)
  if (found.status === 404 || found.status === 410) return null
  throw telnyxUnavailable("the request for a message", found)
}

/** Detail records of messages since an instant, page by page. */
async function* listDetailRecords(
  { telnyx }: TelnyxTextsPorts,
  filter: Readonly<Record<string, string>>,
  since: number,
): AsyncIterable<readonly z.infer<typeof TelnyxDetailRecord>[]> {
  const query = {
    "filter[record_type]": "messaging",
    ...Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [`filter[${name}]`, value]),
    ),
    "filter[created_at][gte]": new Date(since).toISOString(),
    "page[size]": String(PAGE_SIZE),
    sort: "created_at",
  }
  for (let number = 1; number <= MAX_PAGES; number += 1) {
    const pageQuery = { ...query, "page[number]": String(number) }
    const listed = await telnyx.request({
      method: "GET",
      path: "/detail_records",
      query: pageQuery,
    })
    if (listed.outcome === "refused")
      throw telnyxUnavailable("the request for detail records", listed)
    const page = parseTelnyxData(z.array(TelnyxDetailRecord), listed.value)
    yield page
    if (page.length < PAGE_SIZE) return
  }
  throw new ProviderOutcomeUnknown(
    `Telnyx has more detail records than ${MAX_PAGES} pages of ${PAGE_SIZE}`,
  )
}

/** Reads webhooks. Signed bodies that don't concern us are no events. */
function telnyxWebhooks(
  readSigned: ReturnType<typeof openTelnyxWebhookReader>,
  addressing: WebhookAddressing,
): Pick<Carrier, "readWebhook"> {
  return {
    readWebhook: (call, now) => {
      const signed = readSigned(call, now)
      const target = parseTextWebhookTarget(addressing, call.target)
      if (signed === null || target === null) return "forged"
      const { signedAt, body } = signed
      const parsed = TelnyxEvent.safeParse(body)
      if (!parsed.success) return { signedAt, events: [] }
      const { id, event_type: type, payload } = parsed.data.data
      const events =
        target.is === "text"
          ? textStatusEvents(addressing, target.textId, type, payload)
          : incomingEvents(type, payload)
      if (events === "forged") return "forged"
      return { signedAt, events: events.map((event) => ({ id: eventIdOf(id, event), event })) }
    },
  }
}

/** Telnyx's event id; a group text has one event per number. */
function eventIdOf(id: string, event: CarrierEvent): string {
  return event.type === "text_came" && event.text.isGroupText ? `${id}:${event.text.to}` : id
}

/** Status events of a text that we sent; forged if the body was signed for another address. */
function textStatusEvents(
  addressing: WebhookAddressing,
  textId: string,
  type: string,
  payload: unknown,
): readonly CarrierEvent[] | "forged" {
  if (type !== "message.sent" && type !== "message.finalized") return []
  const read = TelnyxMessage.safeParse(payload)
  if (!read.success) return []
  const { id, from, to, webhook_url: url } = read.data
  // The request's address is not signed, but the body contains it and must match.
  if (url !== null && url !== undefined && url !== textWebhookUrl(addressing, textId))
    return "forged"
  const sender = from?.phone_number
  if (!sender) return []
  return (to ?? []).flatMap(({ phone_number: recipient, status }) => {
    if (!recipient) return []
    const textStatus = textStatusFromTelnyx(id, status ?? null, messageErrorCodes(read.data))
    return [{ type: "text_news" as const, textId, from: sender, to: recipient, status: textStatus }]
  })
}

function incomingEvents(type: string, payload: unknown): readonly CarrierEvent[] {
  if (type === "message.received") {
    const read = TelnyxMessage.safeParse(payload)
    return read.success
      ? toReceivedTexts(read.data).map((text) => ({ type: "text_came", text }))
      : []
  }
  if (!type.startsWith("number_order.")) return []
  const reference = TelnyxNumberOrder.safeParse(payload).data?.customer_reference ?? ""
  const [companyId, orderId] = reference.split(":")
  return companyId && orderId ? [{ type: "order_news", companyId, orderId }] : []
}

// Combines two carriers: test numbers use the simulator, all others the real carrier. So a company
// can try every feature on an installation with a real carrier.

/** The simulator's reference of a number: our id of the order. */
const SIMULATED_NUMBER_REF = /^num_/

/**
 * Combines the carriers. `isIdempotent` and `notReceivedAfterMs` are the real carrier's, which are
 * stricter.
 */
export function combineCarriers(simulator: Carrier, real: Carrier): Carrier {
  const carrierFor = ({ isTest }: { readonly isTest: boolean }) => (isTest ? simulator : real)
  return {
    ...real,
    send: (text) => carrierFor(text).send(text),
    checkTextStatus: (text) => carrierFor(text).checkTextStatus(text),
    releaseNumber: (carrierRef) =>
      (SIMULATED_NUMBER_REF.test(carrierRef) ? simulator : real).releaseNumber(carrierRef),
  }
}
