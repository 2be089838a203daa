/** The parts of Telnyx's answers and events that are read; whatever else stands in them is passed over. */
import { z } from "zod"
import type { TelnyxRefusal } from "../telnyx/client.ts"
import { parseTelnyxAnswer, isAccountRefusal } from "../telnyx/client.ts"
import type { CarrierTextStatus } from "./port.ts"

const optionalText = z.string().nullish()
const MessageParty = z.object({ phone_number: optionalText, status: optionalText })
const MessageErrors = z
  .array(z.object({ code: z.union([z.string(), z.number()]).transform(String) }))
  .nullish()

/** A message, of either direction. */
export const TelnyxMessage = z.object({
  id: z.string(),
  direction: optionalText,
  from: MessageParty.nullish(),
  to: z.array(MessageParty).nullish(),
  /** The others of a group text that came: all who take part, its sender included. */
  cc: z.array(MessageParty).nullish(),
  text: optionalText,
  media: z.array(z.unknown()).nullish(),
  parts: z.number().nullish(),
  errors: MessageErrors,
  webhook_url: optionalText,
  /** That the carrier has answered a keyword by itself, and which. */
  autoresponse_type: optionalText,
})

/** A message as Telnyx tells it. */
export type TelnyxMessage = z.infer<typeof TelnyxMessage>

/** The codes of a message's errors, in their order. */
export function messageErrorCodes({ errors }: TelnyxMessage): readonly string[] {
  return (errors ?? []).map(({ code }) => code)
}

/** A row of the detail records of messages. */
export const TelnyxDetailRecord = z.object({
  uuid: optionalText,
  cli: optionalText,
  cld: optionalText,
  status: optionalText,
  errors: z.array(z.union([z.string(), z.number()]).transform(String)).nullish(),
  delivery_status_webhook_url: optionalText,
})

/** A messaging profile. */
export const TelnyxMessagingProfile = z.object({
  id: z.string(),
  name: optionalText,
  created_at: optionalText,
  webhook_url: optionalText,
})

/** An own reply to keywords. */
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

/** A number that is offered. */
export const TelnyxAvailableNumber = z.object({
  phone_number: z.string(),
  features: z.array(z.object({ name: optionalText })).nullish(),
  region_information: z
    .array(z.object({ region_type: optionalText, region_name: optionalText }))
    .nullish(),
})

/** A number of the account. */
export const TelnyxOwnedNumber = z.object({ id: z.string(), phone_number: optionalText })

/** What a number of the account can send. */
export const TelnyxMessagingFeatures = z.object({
  features: z.object({ sms: z.unknown(), mms: z.unknown() }).partial().nullish(),
})

/**
 * The `data` of an answer.
 *
 * @throws ProviderOutcomeUnknown where it has another form: whoever cannot read an answer has none
 */
export function parseTelnyxData<T>(schema: z.ZodType<T>, value: unknown): T {
  return parseTelnyxAnswer(z.object({ data: schema }), value).data
}

// Where Telnyx calls back. It signs a body and not the address, so the address of a text's news carries
// our id of it with a keyed hash: nobody else's id can be put there.

/** Where texts are told of that come in, and whatever has no address of its own. */
export const TEXT_WEBHOOKS_PATH = "/carriers/telnyx/texts"

const TEXT_WEBHOOK_PATTERN = /^\/carriers\/telnyx\/texts\/(msg_[0-9A-Za-z]+)\/([0-9a-f]{32})$/

/** What addresses are made with. */
export interface WebhookAddressing {
  /** The public address of this service, without a slash at the end. */
  readonly baseUrl: () => string
  /** A keyed hash of the installation, 32 hexadecimal characters. */
  readonly keyedHash: (text: string) => string
}

/** The path of a text's news. */
export function textWebhookPath(
  { keyedHash }: Pick<WebhookAddressing, "keyedHash">,
  textId: string,
): string {
  return `${TEXT_WEBHOOKS_PATH}/${textId}/${keyedHash(`telnyx text ${textId}`)}`
}

/** The address of a text's news. */
export function textWebhookUrl(addressing: WebhookAddressing, textId: string): string {
  return `${addressing.baseUrl()}${textWebhookPath(addressing, textId)}`
}

/** Whose news a path is for: a text's, anybody's, or nobody's because somebody made it up. */
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

/** A word of ours for an error code; where there is none, the code with whose it is. */
export function textErrorCodeFrom(code: string | null): string {
  if (code === null) return "unknown"
  return ERROR_CODES_BY_TELNYX_CODE.get(code) ?? `carrier_${code}`
}

/** Of several codes of one text: that its recipient opted out comes first, then a code that we know. */
function mainErrorCodeFrom(codes: readonly string[]): string {
  const known = codes.filter((code) => ERROR_CODES_BY_TELNYX_CODE.has(code))
  const stopped = known.find((code) => ERROR_CODES_BY_TELNYX_CODE.get(code) === "opted_out")
  return textErrorCodeFrom(stopped ?? known[0] ?? codes[0] ?? null)
}

/** Whether a refusal says nothing of a text or an order: a code that is known is always about the thing. */
export function isUnrelatedRefusal(refused: TelnyxRefusal): boolean {
  return (
    isAccountRefusal(refused) &&
    (refused.code === null || !ERROR_CODES_BY_TELNYX_CODE.has(refused.code))
  )
}

/** A status of a text, whatever told it, with the codes of its errors. */
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
    // The first three are of messages, the others of detail records.
    case "delivery_failed":
    case "sending_failed":
    case "failed":
    case "gw_reject":
      return { answer: "undelivered", carrierId, errorCode: mainErrorCodeFrom(codes) }
    default:
      // Queued, sending, sent, and what nobody confirmed: it has it.
      return { answer: "accepted", carrierId }
  }
}
