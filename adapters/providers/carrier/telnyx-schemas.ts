/** Schemas of Telnyx's answers and events about texts and numbers. */
import { z } from "zod"
import type { TelnyxRefusal } from "../telnyx/client.ts"
import { parseTelnyxAnswer, isAccountRefusal } from "../telnyx/client.ts"
import type { CarrierTextStatus } from "./port.ts"
import type { WebhookAddressing } from "../telnyx/webhook-addressing.ts"

const optionalText = z.string().nullish()
const MessageParty = z.object({ phone_number: optionalText, status: optionalText })
const MessageErrors = z
  .array(z.object({ code: z.union([z.string(), z.number()]).transform(String) }))
  .nullish()

export const TelnyxMessage = z.object({
  id: z.string(),
  direction: optionalText,
  from: MessageParty.nullish(),
  to: z.array(MessageParty).nullish(),
  /** The other participants of a received group text, including its sender. */
  cc: z.array(MessageParty).nullish(),
  text: optionalText,
  media: z.array(z.unknown()).nullish(),
  parts: z.number().nullish(),
  errors: MessageErrors,
  webhook_url: optionalText,
  /** The keyword that the carrier replied to automatically. */
  autoresponse_type: optionalText,
})

export type TelnyxMessage = z.infer<typeof TelnyxMessage>

/** The codes of a message's errors, in order. */
export function messageErrorCodes({ errors }: TelnyxMessage): readonly string[] {
  return (errors ?? []).map(({ code }) => code)
}

/** A row of the message detail records. */
export const TelnyxDetailRecord = z.object({
  uuid: optionalText,
  cli: optionalText,
  cld: optionalText,
  status: optionalText,
  errors: z.array(z.union([z.string(), z.number()]).transform(String)).nullish(),
  delivery_status_webhook_url: optionalText,
})

export const TelnyxMessagingProfile = z.object({
  id: z.string(),
  name: optionalText,
  created_at: optionalText,
  webhook_url: optionalText,
})

/** An automatic reply to keywords. */
export const TelnyxAutoResponse = z.object({
  id: z.string(),
  op: optionalText,
  country_code: optionalText,
})

/** An order of numbers. */
export const TelnyxNumberOrder = z.object({
  customer_reference: optionalText,
  status: optionalText,
})

export const TelnyxAvailableNumber = z.object({
  phone_number: z.string(),
  features: z.array(z.object({ name: optionalText })).nullish(),
  region_information: z
    .array(z.object({ region_type: optionalText, region_name: optionalText }))
    .nullish(),
})

export const TelnyxOwnedNumber = z.object({ id: z.string(), phone_number: optionalText })

export const TelnyxMessagingFeatures = z.object({
  features: z.object({ sms: z.unknown(), mms: z.unknown() }).partial().nullish(),
})

/**
 * Parses the `data` of an answer.
 *
 * @throws ProviderOutcomeUnknown if it does not match the schema
 */
export function parseTelnyxData<T>(schema: z.ZodType<T>, value: unknown): T {
  return parseTelnyxAnswer(z.object({ data: schema }), value).data
}

// Telnyx signs a webhook's body but not its address. So the address contains our text id with a
// keyed hash, which cannot be forged for another id.

/** The webhook path for incoming texts, and for events without an address of their own. */
export const TEXT_WEBHOOKS_PATH = "/carriers/telnyx/texts"

const TEXT_WEBHOOK_PATTERN = /^\/carriers\/telnyx\/texts\/(msg_[0-9A-Za-z]+)\/([0-9a-f]{32})$/

/** The webhook path of a sent text. */
export function textWebhookPath(
  { keyedHash }: Pick<WebhookAddressing, "keyedHash">,
  textId: string,
): string {
  return `${TEXT_WEBHOOKS_PATH}/${textId}/${keyedHash(`telnyx text ${textId}`)}`
}

/** The webhook address of a sent text. */
export function textWebhookUrl(addressing: WebhookAddressing, textId: string): string {
  return `${addressing.baseUrl()}${textWebhookPath(addressing, textId)}`
}

/** Parses a webhook path: of one text, the general one, or null if its hash is wrong. */
export function parseTextWebhookTarget(
  addressing: Pick<WebhookAddressing, "keyedHash">,
  target: string,
): { readonly is: "text"; readonly textId: string } | { readonly is: "any" } | null {
  const path = target.split("?")[0] ?? ""
  if (path === TEXT_WEBHOOKS_PATH) return { is: "any" }
  const textId = TEXT_WEBHOOK_PATTERN.exec(path)?.[1]
  if (textId === undefined || textWebhookPath(addressing, textId) !== path) return null
  return { is: "text", textId }
}

const ERROR_CODES_BY_TELNYX_CODE: ReadonlyMap<string, string> = new Map(
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

/** Our word for Telnyx's error code, or the code with the prefix `carrier_`. */
export function textErrorCodeFrom(code: string | null): string {
  if (code === null) return "unknown"
  return ERROR_CODES_BY_TELNYX_CODE.get(code) ?? `carrier_${code}`
}

/** The most important of several codes: an opt-out first, then one that has a word of ours. */
function mainErrorCodeFrom(codes: readonly string[]): string {
  const known = codes.filter((code) => ERROR_CODES_BY_TELNYX_CODE.has(code))
  const stopped = known.find((code) => ERROR_CODES_BY_TELNYX_CODE.get(code) === "opted_out")
  return textErrorCodeFrom(stopped ?? known[0] ?? codes[0] ?? null)
}

/** Whether a refusal is not about the text or order; a known error code always is. */
export function isUnrelatedRefusal(refused: TelnyxRefusal): boolean {
  return (
    isAccountRefusal(refused) &&
    (refused.code === null || !ERROR_CODES_BY_TELNYX_CODE.has(refused.code))
  )
}

/** Maps a status and error codes of messages or detail records. */
export function textStatusFromTelnyx(
  carrierId: string,
  status: string | null,
  codes: readonly string[],
): Exclude<CarrierTextStatus, { readonly answer: "unknown" | "rejected" }> {
  switch (status) {
    case "delivered":
      return { answer: "delivered", carrierId }
    case "expired":
      return { answer: "undelivered", carrierId, errorCode: "expired" }
    // The first three statuses are those of messages, `gw_reject` that of detail records.
    case "delivery_failed":
    case "sending_failed":
    case "failed":
    case "gw_reject":
      return { answer: "undelivered", carrierId, errorCode: mainErrorCodeFrom(codes) }
    default:
      // Queued, sending, sent, or delivery unconfirmed: Telnyx has the text.
      return { answer: "accepted", carrierId }
  }
}
