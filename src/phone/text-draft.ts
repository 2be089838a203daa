/** Everything about a text message that is known before money is asked for. */
import type { SendingNumber } from "../registration/sending-number.ts"
import { PRICES } from "../../domain/charging/aggregates.ts"
import type { StreamOf } from "../../domain/kernel/aggregate.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { RecipientTag } from "../../domain/phone/ids.ts"
import type { RECIPIENT } from "../../domain/phone/aggregates.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { destinationPriceOf } from "../../domain/charging/price-book.ts"
import { saysStop, withOptOutLine } from "../../domain/phone/texting-rules.ts"
import type { PreparedText } from "../../domain/phone/recipient.ts"
import { segmentsOf } from "../../domain/phone/segments.ts"
import { textingOf } from "../../domain/phone/phone-views.ts"
import type { Ports } from "../frame/ports.ts"

/** A text to a recipient. */
export interface Draft {
  readonly companyId: CompanyId
  /** E.164. */
  readonly to: string
  /** Two letters. */
  readonly country: string
  readonly tag: RecipientTag
  readonly recipient: StreamOf<typeof RECIPIENT>
  /** As the caller wrote it. */
  readonly body: string
  /** The number it is to go out from, by id or number; null for the company's first. */
  readonly from: string | null
}

/** A text with its price, as written and, where a first text carries it, with the opt-out line. */
interface PricedText {
  readonly price: { readonly unitPriceMicros: number; readonly priceVersion: number }
  readonly asWritten: PreparedText
  /** Null where even a first text carries no line. */
  readonly withLine: PreparedText | null
}

/** The same, and from which number it goes. */
export interface PreparedToSend extends PricedText {
  readonly from: SendingNumber
}

/** Seals and prices a text both ways: the recipient's stream decides which of them it will be. */
export async function priceText(
  { runner, sealing }: Ports,
  { companyId, country, tag, body }: Pick<Draft, "companyId" | "country" | "tag" | "body">,
): Promise<PricedText> {
  const price = await runner.read(PRICES, (book) => {
    const { textMicros: unitPriceMicros, priceVersion } = destinationPriceOf(book, country)
    return { unitPriceMicros, priceVersion }
  })
  const { texting } = await runner.read(phoneOf(companyId), textingOf)
  const prepare = async (text: string): Promise<PreparedText> => {
    const segments = segmentsOf(text)
    const amountMicros = segments * price.unitPriceMicros
    return { body: await sealing.seal(companyId, tag, text), segments, amountMicros }
  }
  const mayCarryLine = texting.optOutLine && !saysStop(body)
  return {
    price,
    asWritten: await prepare(body),
    withLine: mayCarryLine ? await prepare(withOptOutLine(body)) : null,
  }
}
