/** The parts of Telnyx's answers and events that are read; whatever else stands in them is passed over. */
import { z } from "zod"
import { readAs } from "../telnyx/answers.ts"

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
