/** Taking in a text that somebody sent to a number of a company. */
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

/** A text that came. Numbers in E.164. */
export interface IncomingText {
  readonly companyId: CompanyId
  readonly messageId: MessageId
  readonly numberId: NumberId
  readonly from: string
  readonly body: string
  /** How many pictures and other files came with it. */
  readonly media: number
  /** Whether the carrier answered it itself: then nothing is sent. */
  readonly isAutoAnswered: boolean
}

/** Records a text once, what it asks for, and the free reply to that; answers the keyword that it is. */
export async function receiveText(
  ports: Pick<Ports, "runner" | "sealing">,
  { companyId, messageId, numberId, from, body, media, isAutoAnswered }: IncomingText,
  cause: Cause,
): Promise<TextKeyword | null> {
  const { runner, sealing } = ports
  const tag = await sealing.tag(companyId, from)
  const seal = (text: string) => sealing.seal(companyId, tag, text)
  const rules = await readTextingRules(ports, companyId, numberId)
  const keyword = textKeywordOf(body, rules.extraOptOutWords)
  const says = { stop: rules.optOutReply, start: rules.optInReply, help: rules.helpReply }
  const text = keyword === null || isAutoAnswered ? null : says[keyword]
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
      media,
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

/** Who holds a number. */
export type NumberHolder = NonNullable<Awaited<ReturnType<typeof findHolderOfNumber>>>

/**
 * The id of a text that came: the carrier's own makes it, so that a second notification changes nothing. A
 * group text has an id for each number that it came to.
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

/** Takes a text in that came to a number of this holder; answers the keyword that it is. */
export function receiveCarrierText(
  ports: Pick<Ports, "runner" | "sealing">,
  { company_id: companyId, number_id: numberId }: NumberHolder,
  came: ReceivedText,
  cause: Cause,
): Promise<TextKeyword | null> {
  const { from, body, mediaCount, isAutoAnswered } = came
  const messageId = incomingTextId(came)
  const text = {
    companyId,
    messageId,
    numberId,
    from,
    body,
    media: mediaCount,
    isAutoAnswered: isAutoAnswered,
  }
  return receiveText(ports, text, cause)
}
