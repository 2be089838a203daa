import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { MessageId, NumberId } from "../../domain/phone/ids.ts"
import type { TextKeyword } from "../../domain/phone/texting-rules.ts"
import { normalizeKeyword, textKeywordOf } from "../../domain/phone/texting-rules.ts"
import { countSegments } from "../../domain/phone/segments.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { readTextingRules } from "./texting-rules.ts"
import type { ReceivedText } from "../../adapters/providers/carrier/port.ts"
import type { findHolderOfNumber } from "../../projections/phone/numbers.ts"

/** An incoming text, with numbers in E.164. */
export interface IncomingText {
  readonly companyId: CompanyId
  readonly messageId: MessageId
  readonly numberId: NumberId
  readonly from: string
  readonly body: string
  /** Number of attached files. */
  readonly mediaCount: number
  /** Whether the carrier has answered it; then we do not reply. */
  readonly isAutoAnswered: boolean
}

/** Records an incoming text once, with the effect of its keyword and the free reply; returns the keyword. */
export async function receiveText(
  ports: Pick<Ports, "runner" | "sealing">,
  { companyId, messageId, numberId, from, body, mediaCount, isAutoAnswered }: IncomingText,
  cause: Cause,
): Promise<TextKeyword | null> {
  const { runner, sealing } = ports
  const tag = await sealing.tag(companyId, from)
  const seal = (text: string) => sealing.seal(companyId, tag, text)
  const rules = await readTextingRules(ports, companyId, numberId)
  const keyword = textKeywordOf(body, rules.extraOptOutWords)
  const replies = { stop: rules.optOutReply, start: rules.optInReply, help: rules.helpReply }
  const text = keyword === null || isAutoAnswered ? null : replies[keyword]
  const reply =
    text === null
      ? null
      : {
          messageId: derivedId("msg", messageId, "reply"),
          body: await seal(text),
          segments: countSegments(text),
        }
  await runner.execute(
    recipientStreamOf(companyId, tag),
    {
      type: "ReceiveText",
      messageId,
      numberId,
      mediaCount,
      keyword,
      reply,
      from: await seal(from),
      body: await seal(body),
      word: keyword === null ? "" : normalizeKeyword(body),
    },
    cause,
  )
  return keyword
}

export type NumberHolder = NonNullable<Awaited<ReturnType<typeof findHolderOfNumber>>>

/**
 * Derives a text's id from the carrier's id, so that repeats change nothing; group texts have one for each
 * number.
 */
export function incomingTextId({
  carrierId,
  isGroupText,
  to,
}: Pick<ReceivedText, "carrierId" | "isGroupText" | "to">): MessageId {
  return isGroupText
    ? derivedId("msg", "carrier", carrierId, to)
    : derivedId("msg", "carrier", carrierId)
}

/** Records a text that a carrier received for this holder's number; returns its keyword, or null. */
export function receiveCarrierText(
  ports: Pick<Ports, "runner" | "sealing">,
  { company_id: companyId, number_id: numberId }: NumberHolder,
  received: ReceivedText,
  cause: Cause,
): Promise<TextKeyword | null> {
  const { from, body, mediaCount, isAutoAnswered } = received
  const messageId = incomingTextId(received)
  const text = {
    companyId,
    messageId,
    numberId,
    from,
    body,
    mediaCount,
    isAutoAnswered,
  }
  return receiveText(ports, text, cause)
}
