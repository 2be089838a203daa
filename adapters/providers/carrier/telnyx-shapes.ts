/** The parts of Telnyx's answers and events that are read; whatever else stands in them is passed over. */
import { z } from "zod"
import type { Refused } from "../telnyx/client.ts"
import { readAs, isOfAccount } from "../telnyx/client.ts"
import type { CarrierKnowledge } from "./port.ts"

const text = z.string().nullish()
const Party = z.object({ phone_number: text, status: text })
const Errors = z
  .array(z.object({ code: z.union([z.string(), z.number()]).transform(String) }))
  .nullish()

/** A message, of either direction. */
export const Message = z.object({
  id: z.string(),
  direction: text,
  from: Party.nullish(),
  to: z.array(Party).nullish(),
  /** The others of a group text that came: all who take part, its sender included. */
  cc: z.array(Party).nullish(),
  text,
  media: z.array(z.unknown()).nullish(),
  parts: z.number().nullish(),
  errors: Errors,
  webhook_url: text,
  /** That the carrier has answered a keyword by itself, and which. */
  autoresponse_type: text,
})

/** A message as Telnyx tells it. */
export type Message = z.infer<typeof Message>

/** The codes of a message's errors, in their order. */
export function codesOf({ errors }: Message): readonly string[] {
  return (errors ?? []).map(({ code }) => code)
}

/** A row of the detail records of messages. */
export const DetailRecord = z.object({
  uuid: text,
  cli: text,
  cld: text,
  status: text,
  errors: z.array(z.union([z.string(), z.number()]).transform(String)).nullish(),
  delivery_status_webhook_url: text,
})

/** A messaging profile. */
export const Profile = z.object({ id: z.string(), name: text, created_at: text, webhook_url: text })

/** An own reply to keywords. */
export const AutoResponse = z.object({ id: z.string(), op: text, country_code: text })

/** An order of numbers. */
export const Order = z.object({ customer_reference: text, status: text })

/** A number that is offered. */
export const Offered = z.object({
  phone_number: z.string(),
  features: z.array(z.object({ name: text })).nullish(),
  region_information: z.array(z.object({ region_type: text, region_name: text })).nullish(),
})

/** A number of the account. */
export const Owned = z.object({ id: z.string(), phone_number: text })

/** What a number of the account can send. */
export const Messaging = z.object({
  features: z.object({ sms: z.unknown(), mms: z.unknown() }).partial().nullish(),
})

/**
 * The `data` of an answer.
 *
 * @throws ProviderSilent where it has another form: whoever cannot read an answer has none
 */
export function dataOf<T>(schema: z.ZodType<T>, value: unknown): T {
  return readAs(z.object({ data: schema }), value).data
}

// Where Telnyx calls back. It signs a body and not the address, so the address of a text's news carries
// our id of it with a keyed hash: nobody else's id can be put there.

/** Where texts are told of that come in, and whatever has no address of its own. */
export const TEXTS_PATH = "/carriers/telnyx/texts"

const OF_A_TEXT = /^\/carriers\/telnyx\/texts\/(msg_[0-9A-Za-z]+)\/([0-9a-f]{32})$/

/** What addresses are made with. */
export interface Addressing {
  /** The public address of this service, without a slash at the end. */
  readonly baseUrl: () => string
  /** A keyed hash of the installation, 32 hexadecimal characters. */
  readonly tag: (text: string) => string
}

/** The path of a text's news. */
export function pathOfText({ tag }: Pick<Addressing, "tag">, textId: string): string {
  return `${TEXTS_PATH}/${textId}/${tag(`telnyx text ${textId}`)}`
}

/** The address of a text's news. */
export function urlOfText(addressing: Addressing, textId: string): string {
  return `${addressing.baseUrl()}${pathOfText(addressing, textId)}`
}

/** Whose news a path is for: a text's, anybody's, or nobody's because somebody made it up. */
export function placeOf(
  addressing: Pick<Addressing, "tag">,
  target: string,
): { readonly is: "text"; readonly textId: string } | { readonly is: "any" } | null {
  const path = target.split("?")[0] ?? ""
  if (path === TEXTS_PATH) return { is: "any" }
  const textId = OF_A_TEXT.exec(path)?.[1]
  if (textId === undefined || pathOfText(addressing, textId) !== path) return null
  return { is: "text", textId }
}

const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    landline: "40001",
    spam: "40002 40003 40015 40017",
    unreachable: "40004 40006 40008",
    expired: "40005 40014",
    too_fast: "40011 40016 40018",
    not_registered: "40010 40019 40329 40330",
    fraud: "40020",
    bad_number: "40012",
    opted_out: "40300",
  }).flatMap(([word, codes]) => codes.split(" ").map((code) => [code, word] as const)),
)

/** A word of ours for an error code; where there is none, the code with whose it is. */
export function wordOf(code: string | null): string {
  if (code === null) return "unknown"
  return WORDS.get(code) ?? `carrier_${code}`
}

/** Of several codes of one text: that its recipient opted out comes first, then a code that we know. */
function wordOfAll(codes: readonly string[]): string {
  const known = codes.filter((code) => WORDS.has(code))
  const stopped = known.find((code) => WORDS.get(code) === "opted_out")
  return wordOf(stopped ?? known[0] ?? codes[0] ?? null)
}

/** Whether a refusal says nothing of a text or an order: a code that is known is always about the thing. */
export function isNoAnswer(refused: Refused): boolean {
  return isOfAccount(refused) && (refused.code === null || !WORDS.has(refused.code))
}

/** A status of a text, whatever told it, with the codes of its errors. */
export function knowledgeOf(
  carrierId: string,
  status: string | null,
  codes: readonly string[],
): Exclude<CarrierKnowledge, { readonly answer: "unknown" | "rejected" }> {
  switch (status) {
    case "delivered":
      return { answer: "delivered", carrierId }
    case "expired":
      return { answer: "undelivered", carrierId, errorCode: "expired" }
    // The first three are of messages, the others of detail records.
    case "delivery_failed":
    case "sending_failed":
    case "failed":
    case "gw_reject":
      return { answer: "undelivered", carrierId, errorCode: wordOfAll(codes) }
    default:
      // Queued, sending, sent, and what nobody confirmed: it has it.
      return { answer: "accepted", carrierId }
  }
}
