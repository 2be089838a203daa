/** Everything about a text that is known before money is asked for. */
import { recipientOf } from "../../domain/phone/aggregates.ts"
import { PRICES } from "../../domain/charging/aggregates.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import type { ChargeId, CompanyId, MessageId, RecipientTag } from "../../domain/kernel/ids.ts"
import { saysStop } from "../../domain/phone/keywords.ts"
import type { PreparedText } from "../../domain/phone/recipient.ts"
import { segmentsOf } from "../../domain/phone/segments.ts"
import { DEFAULT_TEXTING_RULES, withOptOutLine } from "../../domain/phone/texting-rules.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Seed } from "../frame/calls/route.ts"
import type { Ports } from "../frame/ports.ts"

/** A text to a recipient; its ids derive from the request and its attempt. */
export interface Draft {
  readonly companyId: CompanyId
  /** E.164. */
  readonly to: string
  readonly recipient: RecipientTag
  readonly stream: string
  /** As the caller wrote it. */
  readonly body: string
  readonly messageId: MessageId
  readonly chargeId: ChargeId
}

/** Drafts one attempt at a text. */
export async function draftText(
  ports: Ports,
  text: Pick<Draft, "companyId" | "to" | "body">,
  seed: Seed,
): Promise<Draft> {
  const recipient = await ports.sealing.tag(text.companyId, text.to)
  return {
    ...text,
    recipient,
    stream: recipientOf(text.companyId, recipient).stream,
    ...idsOf(seed),
  }
}

/** The ids of an attempt. */
export function idsOf({ parts }: Seed): Pick<Draft, "messageId" | "chargeId"> {
  return { messageId: derivedId("msg", ...parts), chargeId: derivedId("chg", ...parts) }
}

/** A text with its price, as written and, where a first text carries it, with the opt-out line. */
export interface PricedText {
  readonly price: ReturnType<typeof priceOf>
  readonly asWritten: PreparedText
  /** Null where even a first text carries no line. */
  readonly withLine: PreparedText | null
}

/** Seals and prices a text both ways: the recipient's stream decides which of them it will be. */
export async function priceText(ports: Ports, draft: Draft): Promise<PricedText> {
  const { companyId, recipient, body } = draft
  const price = await ports.runner.look(PRICES, (state) => priceOf(state, "text_segment"))
  const prepare = async (text: string): Promise<PreparedText> => {
    const segments = segmentsOf(text)
    return {
      body: await ports.sealing.seal(companyId, recipient, text),
      segments,
      amountMicros: segments * price.unitPriceMicros,
    }
  }
  const mayCarryLine = DEFAULT_TEXTING_RULES.optOutLine && !saysStop(body)
  return {
    price,
    asWritten: await prepare(body),
    withLine: mayCarryLine ? await prepare(withOptOutLine(body)) : null,
  }
}
