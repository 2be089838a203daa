/**
 * Telnyx as a carrier (API v2). It has no idempotency key for texts and orders: each is handed over once,
 * and what became of it is asked by our own id, which goes along where Telnyx gives it back. It answers
 * keywords by itself, and refuses texts to whoever stopped.
 */
import type { Telnyx } from "../telnyx/client.ts"
import { openTelnyx, notDone } from "../telnyx/client.ts"
import { openTelnyxReader, TelnyxEvent } from "../telnyx/signed.ts"
import type {
  Carrier,
  AskedText,
  CameRecord,
  CameText,
  CarrierAnswer,
  CarrierKnowledge,
  OutgoingText,
  CarrierEvent,
} from "./port.ts"
import type { Addressing } from "./telnyx-shapes.ts"
import {
  TEXTS_PATH,
  pathOfText,
  urlOfText,
  placeOf,
  DetailRecord,
  Message,
  codesOf,
  dataOf,
  Order,
  isNoAnswer,
  knowledgeOf,
  wordOf,
} from "./telnyx-shapes.ts"
import { telnyxNumbers } from "./telnyx-numbers.ts"
import type { Profiles } from "./telnyx-profiles.ts"
import { openProfiles } from "./telnyx-profiles.ts"
import { z } from "zod"
import { encodingOf, segmentsOf } from "../../../domain/phone/segments.ts"
import { ProviderSilent } from "../outside.ts"

/** Its books show a text that late. */
const UNKNOWN_IS_NO_AFTER_MS = 30 * 60_000

/** How Telnyx is reached, and reaches us. */
interface TelnyxCarrierSettings extends Addressing {
  readonly key: string
  readonly publicKey: string
  readonly url: string
  readonly connectionId: string | null
  readonly warn: (message: string, error: unknown) => void
}

/** Opens the adapter. It calls nobody before it is asked something. */
export function openTelnyxCarrier(settings: TelnyxCarrierSettings): Carrier {
  const { key, publicKey, url, connectionId, warn, baseUrl, tag } = settings
  const telnyx = openTelnyx({ key, url })
  const addressing = { baseUrl, tag }
  const profiles = openProfiles(telnyx, () => `${baseUrl()}${TEXTS_PATH}`)
  return {
    isBuiltIn: false,
    isRepeatable: false,
    answersKeywords: true,
    unknownIsNoAfterMs: UNKNOWN_IS_NO_AFTER_MS,
    ...telnyxTexts({ telnyx, profiles, addressing, warn }),
    ...telnyxNumbers({ telnyx, profiles, connectionId }),
    ...telnyxEvents(openTelnyxReader(publicKey), addressing),
    setReplies: (replies) => profiles.setReplies(replies),
    forgetCompany: (companyId) => profiles.remove(companyId),
  }
}

const PAGE = 50
/** Their clock and ours: a record is looked for from so long before a text was queued. */
const CLOCKS_MS = 10 * 60_000
/** So many pages of records are read at most: what a week may hold. */
const MOST_PAGES = 2_000

/** What texts need. */
interface TextsPorts {
  readonly telnyx: Telnyx
  readonly profiles: Profiles
  readonly addressing: Addressing
  /** Told where Telnyx counts other segments than those that were charged. */
  readonly warn: (message: string, error: unknown) => void
}

/** The part of the carrier that is about texts. */
function telnyxTexts(ports: TextsPorts): Pick<Carrier, "send" | "ask" | "cameSince" | "fetchCame"> {
  return {
    send: (text) => send(ports, text),
    ask: (text) => ask(ports, text),
    cameSince: (since) => cameSince(ports, since),
    fetchCame: (carrierId) => fetchCame(ports, carrierId),
  }
}

async function send(ports: TextsPorts, text: OutgoingText): Promise<CarrierAnswer> {
  const { telnyx, profiles, addressing, warn } = ports
  const { textId, companyId, from, to, body } = text
  const profile = await profiles.of(companyId)
  const sent = await telnyx.ask({
    method: "POST",
    path: "/messages",
    body: {
      from,
      to,
      text: body,
      type: "SMS",
      encoding: encodingOf(body),
      messaging_profile_id: profile,
      use_profile_webhooks: false,
      webhook_url: urlOfText(addressing, textId),
    },
  })
  if (sent.is === "refused") {
    if (isNoAnswer(sent)) throw notDone("a text", sent)
    // It may be the profile that is gone: the next text looks.
    if (sent.status === 404) profiles.forget(companyId)
    return { answer: "rejected", errorCode: wordOf(sent.code) }
  }
  const { id, parts } = dataOf(Message, sent.value)
  const ours = segmentsOf(body)
  if (typeof parts === "number" && parts !== ours) {
    warn(`Telnyx counts ${parts} parts of ${textId}`, new Error(`it was charged as ${ours}`))
  }
  return { answer: "accepted", carrierId: id }
}

async function ask(ports: TextsPorts, text: AskedText): Promise<CarrierKnowledge> {
  const { textId, from, to, queuedAt } = text
  const path = pathOfText(ports.addressing, textId)
  const filter = { direction: "outbound", cli: from, cld: to }
  for await (const page of records(ports, filter, queuedAt - CLOCKS_MS)) {
    const row = page.find(({ delivery_status_webhook_url: url }) => url?.endsWith(path) === true)
    const carrierId = row?.uuid ?? null
    if (row === undefined || carrierId === null) continue
    const message = await fetchMessage(ports, carrierId)
    if (message === null) return knowledgeOf(carrierId, row.status ?? null, row.errors ?? [])
    const party = (message.to ?? []).find(({ phone_number: number }) => number === to)
    return knowledgeOf(carrierId, party?.status ?? null, codesOf(message))
  }
  return { answer: "unknown" }
}

async function* cameSince(ports: TextsPorts, since: number): AsyncIterable<readonly CameRecord[]> {
  for await (const page of records(ports, { direction: "inbound" }, since)) {
    yield page.flatMap(({ uuid, cli, cld }) =>
      uuid && cli && cld ? [{ carrierId: uuid, from: cli, to: cld }] : [],
    )
  }
}

async function fetchCame(
  ports: TextsPorts,
  carrierId: string,
): Promise<readonly CameText[] | null> {
  const message = await fetchMessage(ports, carrierId)
  if (message === null) return null
  // Whatever it was, the carrier has seen it: a keyword in it was answered when it came.
  return cameOf(message).map((text) => ({ ...text, isAnswered: true }))
}

/** A message that came, for each number it names but its sender's; none where it does not name its sender. */
function cameOf(message: Message): readonly CameText[] {
  const from = message.from?.phone_number ?? null
  if (from === null) return []
  const parties = [...(message.to ?? []), ...(message.cc ?? [])]
  const named = parties.map(({ phone_number: number }) => number ?? from)
  const numbers = [...new Set(named)].filter((number) => number !== from)
  return numbers.map((to) => ({
    carrierId: message.id,
    isOfGroup: numbers.length > 1,
    from,
    to,
    // A lone surrogate is no text: nothing could store it.
    body: (message.text ?? "").toWellFormed(),
    media: message.media?.length ?? 0,
    isAnswered: (message.autoresponse_type ?? null) !== null,
  }))
}

/** A message by Telnyx's id of it; null where it is kept no longer. */
async function fetchMessage({ telnyx }: TextsPorts, carrierId: string): Promise<Message | null> {
  const path = `/messages/${encodeURIComponent(carrierId)}`
  const found = await telnyx.ask({ method: "GET", path })
  if (found.is === "done") return dataOf(Message, found.value)
  if (found.status === 404 || found.status === 410) return null
  throw notDone("a look at a message", found)
}

/** Detail records of messages since an instant, page by page. */
async function* records(
  { telnyx }: TextsPorts,
  filter: Readonly<Record<string, string>>,
  since: number,
): AsyncIterable<readonly z.infer<typeof DetailRecord>[]> {
  const query = {
    "filter[record_type]": "messaging",
    ...Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [`filter[${name}]`, value]),
    ),
    "filter[created_at][gte]": new Date(since).toISOString(),
    "page[size]": String(PAGE),
    sort: "created_at",
  }
  for (let number = 1; number <= MOST_PAGES; number += 1) {
    const asked = { ...query, "page[number]": String(number) }
    const listed = await telnyx.ask({ method: "GET", path: "/detail_records", query: asked })
    if (listed.is === "refused") throw notDone("a look at the records", listed)
    const page = dataOf(z.array(DetailRecord), listed.value)
    yield page
    if (page.length < PAGE) return
  }
  throw new ProviderSilent("Telnyx has more records than can be looked through")
}

/** The reading of what is called back. Whatever is signed and says nothing to us is no event. */
function telnyxEvents(
  signedIn: ReturnType<typeof openTelnyxReader>,
  addressing: Addressing,
): Pick<Carrier, "read"> {
  return {
    read: (call, now) => {
      const signed = signedIn(call, now)
      const place = placeOf(addressing, call.target)
      if (signed === null || place === null) return "forged"
      const { signedAt, said } = signed
      const told = TelnyxEvent.safeParse(said)
      if (!told.success) return { signedAt, events: [] }
      const { id, event_type: type, payload } = told.data.data
      const events =
        place.is === "text" ? newsOf(addressing, place.textId, type, payload) : came(type, payload)
      if (events === "forged") return "forged"
      return { signedAt, events: events.map((event) => ({ id: idOf(id, event), event })) }
    },
  }
}

/** Telnyx's id of an event; of a group text each number has an event of its own. */
function idOf(id: string, event: CarrierEvent): string {
  return event.is === "text_came" && event.text.isOfGroup ? `${id}:${event.text.to}` : id
}

/** News of a text that we handed over; forged where it was signed for another address. */
function newsOf(
  addressing: Addressing,
  textId: string,
  type: string,
  payload: unknown,
): readonly CarrierEvent[] | "forged" {
  if (type !== "message.sent" && type !== "message.finalized") return []
  const read = Message.safeParse(payload)
  if (!read.success) return []
  const { id, from, to, webhook_url: url } = read.data
  // The address is not signed, and the body that says it is: it is that text's, or no text's.
  if (url !== null && url !== undefined && url !== urlOfText(addressing, textId)) return "forged"
  const sender = from?.phone_number
  if (!sender) return []
  return (to ?? []).flatMap(({ phone_number: recipient, status }) => {
    if (!recipient) return []
    const news = knowledgeOf(id, status ?? null, codesOf(read.data))
    return [{ is: "text_news" as const, textId, from: sender, to: recipient, news }]
  })
}

function came(type: string, payload: unknown): readonly CarrierEvent[] {
  if (type === "message.received") {
    const read = Message.safeParse(payload)
    return read.success ? cameOf(read.data).map((text) => ({ is: "text_came", text })) : []
  }
  if (!type.startsWith("number_order.")) return []
  const reference = Order.safeParse(payload).data?.customer_reference ?? ""
  const [companyId, orderId] = reference.split(":")
  return companyId && orderId ? [{ is: "order_news", companyId, orderId }] : []
}

// Two carriers as one: test numbers are of the built-in one, wherever they come from, and all others of
// the real one. So a company can try everything on an installation that reaches people.

/** What the built-in carrier calls a number that it sold: our own id of the order. */
const SOLD_HERE = /^num_/

/**
 * Joins them. What is promised of it is what the real one keeps: a text is handed over once, and what is
 * unknown is waited for as long as there.
 */
export function byNumber(builtIn: Carrier, real: Carrier): Carrier {
  const ofText = ({ isTest }: { readonly isTest: boolean }) => (isTest ? builtIn : real)
  return {
    ...real,
    send: (text) => ofText(text).send(text),
    ask: (text) => ofText(text).ask(text),
    release: (carrierRef) => (SOLD_HERE.test(carrierRef) ? builtIn : real).release(carrierRef),
  }
}
