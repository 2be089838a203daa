/** Texts by Telnyx: handed over once, and asked about by our id in the address of their news. */
import { z } from "zod"
import { encodingOf, segmentsOf } from "../../../domain/phone/segments.ts"
import { ProviderSilent } from "../outside.ts"
import { notDone } from "../telnyx/answers.ts"
import type { Telnyx } from "../telnyx/client.ts"
import type {
  AskedText,
  CameRecord,
  CameText,
  Carrier,
  CarrierAnswer,
  CarrierKnowledge,
  OutgoingText,
} from "./port.ts"
import type { Addressing } from "./telnyx-addresses.ts"
import { pathOfText, urlOfText } from "./telnyx-addresses.ts"
import type { Profiles } from "./telnyx-profiles.ts"
import { DetailRecord, Message, codesOf, dataOf } from "./telnyx-shapes.ts"
import { isNoAnswer, knowledgeOf, wordOf } from "./telnyx-words.ts"

const PAGE = 50
/** Their clock and ours: a record is looked for from so long before a text was queued. */
const CLOCKS_MS = 10 * 60_000
/** So many pages of records are read at most: what a week may hold. */
const MOST_PAGES = 2_000

/** What texts need. */
export interface TextsPorts {
  readonly telnyx: Telnyx
  readonly profiles: Profiles
  readonly addressing: Addressing
  /** Told where Telnyx counts other segments than those that were charged. */
  readonly warn: (message: string, error: unknown) => void
}

/** The part of the carrier that is about texts. */
export function telnyxTexts(
  ports: TextsPorts,
): Pick<Carrier, "send" | "ask" | "cameSince" | "fetchCame"> {
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
  return cameOf(message).map((came) => ({ ...came, isAnswered: true }))
}

/** A message that came, for each number it names but its sender's; none where it does not name its sender. */
export function cameOf(message: Message): readonly CameText[] {
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
