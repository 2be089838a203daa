/** What Telnyx calls back about texts and orders, read. */
import type { openTelnyxReader } from "../telnyx/signed.ts"
import { TelnyxEvent } from "../telnyx/signed.ts"
import type { Carrier, CarrierEvent } from "./port.ts"
import type { Addressing } from "./telnyx-addresses.ts"
import { placeOf, urlOfText } from "./telnyx-addresses.ts"
import { Message, Order, codesOf } from "./telnyx-shapes.ts"
import { cameOf } from "./telnyx-texts.ts"
import { knowledgeOf } from "./telnyx-words.ts"

/** The reading of what is called back. Whatever is signed and says nothing to us is no event. */
export function telnyxEvents(
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
