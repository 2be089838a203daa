/** What Telnyx calls back about texts and orders, read. */
import type { openTelnyxReader } from "../telnyx/signed.ts"
import { TelnyxEvent } from "../telnyx/signed.ts"
import type { Carrier, CarrierEvent } from "./port.ts"
import type { Addressing } from "./telnyx-addresses.ts"
import { placeOf, urlOfText } from "./telnyx-addresses.ts"
import { Message, Order } from "./telnyx-shapes.ts"
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
      const event =
        place.is === "text" ? newsOf(addressing, place.textId, type, payload) : came(type, payload)
      if (event === "forged") return "forged"
      return { signedAt, events: event === null ? [] : [{ id, event }] }
    },
  }
}

/** News of a text that we handed over; forged where it was signed for another address. */
function newsOf(
  addressing: Addressing,
  textId: string,
  type: string,
  payload: unknown,
): CarrierEvent | "forged" | null {
  if (type !== "message.sent" && type !== "message.finalized") return null
  const read = Message.safeParse(payload)
  if (!read.success) return null
  const { id, from, to, errors, webhook_url: url } = read.data
  // The address is not signed, and the body that says it is: it is that text's, or no text's.
  if (url !== null && url !== undefined && url !== urlOfText(addressing, textId)) return "forged"
  const [sender, recipient] = [from?.phone_number, to?.[0]?.phone_number]
  if (!sender || !recipient) return null
  const news = knowledgeOf(id, to?.[0]?.status ?? null, errors?.[0]?.code ?? null)
  return { is: "text_news", textId, from: sender, to: recipient, news }
}

function came(type: string, payload: unknown): CarrierEvent | null {
  if (type === "message.received") {
    const read = Message.safeParse(payload)
    const text = read.success ? cameOf(read.data) : null
    return text === null ? null : { is: "text_came", text }
  }
  if (!type.startsWith("number_order.")) return null
  const reference = Order.safeParse(payload).data?.customer_reference ?? ""
  const [companyId, orderId] = reference.split(":")
  return companyId && orderId ? { is: "order_news", companyId, orderId } : null
}
