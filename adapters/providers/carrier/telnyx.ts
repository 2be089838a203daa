/**
 * Telnyx as a carrier (API v2). It has no idempotency key for texts and orders: each is handed over once,
 * and what became of it is asked by our own id, which goes along where Telnyx gives it back. It answers
 * keywords by itself, and refuses texts to whoever stopped.
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
import type { WebhookAddressing } from "./telnyx-schemas.ts"
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

/** Its books show a text that late. */
const NOT_RECEIVED_AFTER_MS = 30 * 60_000

/** How Telnyx is reached, and reaches us. */
interface TelnyxCarrierSettings extends WebhookAddressing {
  readonly key: string
  readonly publicKey: string
  readonly url: string
  readonly connectionId: string | null
  readonly warn: (message: string, error: unknown) => void
}

/** Opens the adapter. It calls nobody before it is asked something. */
export function openTelnyxCarrier(settings: TelnyxCarrierSettings): Carrier {
  const { key, publicKey, url, connectionId, warn, baseUrl, keyedHash } = settings
  const telnyx = openTelnyxClient({ key, url })
  const addressing = { baseUrl, keyedHash: keyedHash }
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
/** Their clock and ours: a record is looked for from so long before a text was queued. */
const CLOCK_SKEW_MS = 10 * 60_000
/** So many pages of records are read at most: what a week may hold. */
const MAX_PAGES = 2_000

/** What texts need. */
interface TelnyxTextsPorts {
  readonly telnyx: TelnyxClient
  readonly profiles: MessagingProfiles
  readonly addressing: WebhookAddressing
  /** Told where Telnyx counts other segments than those that were charged. */
  readonly warn: (message: string, error: unknown) => void
}

/** The part of the carrier that is about texts. */
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
    if (isUnrelatedRefusal(sent)) throw telnyxUnavailable("a text", sent)
    // It may be the profile that is gone: the next text looks.
    if (sent.status === 404) profiles.invalidate(companyId)
    return { answer: "rejected", errorCode: textErrorCodeFrom(sent.code) }
  }
  const { id, parts } = parseTelnyxData(TelnyxMessage, sent.value)
  const ours = countSegments(body)
  if (typeof parts === "number" && parts !== ours) {
    warn(`Telnyx counts ${parts} parts of ${textId}`, new Error(`it was charged as ${ours}`))
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
  // Whatever it was, the carrier has seen it: a keyword in it was answered when it came.
  return toReceivedTexts(message).map((text) => ({ ...text, isAutoAnswered: true }))
}

/** A message that came, for each number it names but its sender's; none where it does not name its sender. */
function toReceivedTexts(message: TelnyxMessage): readonly ReceivedText[] {
  const from = message.from?.phone_number ?? null
  if (from === null) return []
  const parties = [...(message.to ?? []), ...(message.cc ?? [])]
  const named = parties.map(({ phone_number: number }) => number ?? from)
  const numbers = [...new Set(named)].filter((number) => number !== from)
  return numbers.map((to) => ({
    carrierId: message.id,
    isGroupText: numbers.length > 1,
    from,
    to,
    // A lone surrogate is no text: nothing could store it.
    body: (message.text ?? "").toWellFormed(),
    mediaCount: message.media?.length ?? 0,
    isAutoAnswered: (message.autoresponse_type ?? null) !== null,
  }))
}

/** A message by Telnyx's id of it; null where it is kept no longer. */
async function fetchMessage(
  { telnyx }: TelnyxTextsPorts,
  carrierId: string,
): Promise<TelnyxMessage | null> {
  const path = `/messages/${encodeURIComponent(carrierId)}`
  const found = await telnyx.request({ method: "GET", path })
  if (found.outcome === "done") return parseTelnyxData(TelnyxMessage, found.value)
  if (found.status === 404 || found.status === 410) return null
  throw telnyxUnavailable("a look at a message", found)
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
    const asked = { ...query, "page[number]": String(number) }
    const listed = await telnyx.request({ method: "GET", path: "/detail_records", query: asked })
    if (listed.outcome === "refused") throw telnyxUnavailable("a look at the records", listed)
    const page = parseTelnyxData(z.array(TelnyxDetailRecord), listed.value)
    yield page
    if (page.length < PAGE_SIZE) return
  }
  throw new ProviderOutcomeUnknown("Telnyx has more records than can be looked through")
}

/** The reading of what is called back. Whatever is signed and says nothing to us is no event. */
function telnyxWebhooks(
  signedIn: ReturnType<typeof openTelnyxWebhookReader>,
  addressing: WebhookAddressing,
): Pick<Carrier, "readWebhook"> {
  return {
    readWebhook: (call, now) => {
      const signed = signedIn(call, now)
      const place = parseTextWebhookTarget(addressing, call.target)
      if (signed === null || place === null) return "forged"
      const { signedAt, body } = signed
      const told = TelnyxEvent.safeParse(body)
      if (!told.success) return { signedAt, events: [] }
      const { id, event_type: type, payload } = told.data.data
      const events =
        place.is === "text"
          ? textStatusEvents(addressing, place.textId, type, payload)
          : incomingEvents(type, payload)
      if (events === "forged") return "forged"
      return { signedAt, events: events.map((event) => ({ id: eventIdOf(id, event), event })) }
    },
  }
}

/** Telnyx's id of an event; of a group text each number has an event of its own. */
function eventIdOf(id: string, event: CarrierEvent): string {
  return event.type === "text_came" && event.text.isGroupText ? `${id}:${event.text.to}` : id
}

/** News of a text that we handed over; forged where it was signed for another address. */
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
  // The address is not signed, and the body that says it is: it is that text's, or no text's.
  if (url !== null && url !== undefined && url !== textWebhookUrl(addressing, textId))
    return "forged"
  const sender = from?.phone_number
  if (!sender) return []
  return (to ?? []).flatMap(({ phone_number: recipient, status }) => {
    if (!recipient) return []
    const news = textStatusFromTelnyx(id, status ?? null, messageErrorCodes(read.data))
    return [{ type: "text_news" as const, textId, from: sender, to: recipient, status: news }]
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

// Two carriers as one: test numbers are of the built-in one, wherever they come from, and all others of
// the real one. So a company can try everything on an installation that reaches people.

/** What the built-in carrier calls a number that it sold: our own id of the order. */
const SIMULATED_NUMBER_REF = /^num_/

/**
 * Joins them. What is promised of it is what the real one keeps: a text is handed over once, and what is
 * unknown is waited for as long as there.
 */
export function combineCarriers(builtIn: Carrier, real: Carrier): Carrier {
  const ofText = ({ isTest }: { readonly isTest: boolean }) => (isTest ? builtIn : real)
  return {
    ...real,
    send: (text) => ofText(text).send(text),
    checkTextStatus: (text) => ofText(text).checkTextStatus(text),
    releaseNumber: (carrierRef) =>
      (SIMULATED_NUMBER_REF.test(carrierRef) ? builtIn : real).releaseNumber(carrierRef),
  }
}
