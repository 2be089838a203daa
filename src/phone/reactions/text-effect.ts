/** Handing a queued text message to the carrier, and finding out what became of it. */
import { z } from "zod"
import type { CarrierKnowledge } from "../../../adapters/providers/carrier/port.ts"
import { RECIPIENT } from "../../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseMessageId, parseNumberId } from "../../../domain/phone/ids.ts"
import { idSchema, sealed } from "../../frame/kernel/id-schemas.ts"
import { effect } from "../../frame/effects/effect.ts"
import { numberText } from "../numbers.ts"
import type { TextPlace } from "../texts.ts"
import { lookAtText, recordText, settleText } from "../texts.ts"

/** What a row carries: nothing in it is readable without the recipient's key. */
const Payload = z.object({
  stream: z.string(),
  messageId: idSchema(parseMessageId),
  chargeId: z.string().nullable(),
  giveBackMicros: z.number(),
  numberId: idSchema(parseNumberId),
  to: sealed,
  body: sealed,
  queuedAt: z.number(),
})

type Payload = z.infer<typeof Payload>
type Answer = Exclude<CarrierKnowledge, { answer: "unknown" }>

/** The reactions that send text messages. */
export const textEffect = effect<Payload, Answer>({
  ...{ kind: "send-text", askKind: "ask-text", payload: Payload },
  ...{
    provider: "the carrier",
    about: "this text",
    unknownTo: "its recipient does not know this text",
  },
  endsWithCompany: true,
  isPersonal: true,
  from: {
    TextQueued: (fact, { stream }) => {
      const { messageId, chargeId, giveBackMicros, numberId, to, body, at } = fact
      const text = { messageId, chargeId, giveBackMicros, numberId, to, body }
      const payload = { stream, ...text, queuedAt: at }
      return [{ name: messageId, subject: stream, payload, dueAt: at }]
    },
  },
  begunAt: ({ queuedAt }) => queuedAt,
  // Other texts to the same recipient may go on.
  askSubject: ({ messageId }) => messageId,
  look: async (ports, work, cause) => {
    const place = placeOf(work)
    const known = await lookAtText(ports, place)
    if (known === null) return "not there"
    return (await settleText(ports, place, known, cause)) ? "ended" : "open"
  },
  act: async (ports, { companyId, payload }) => {
    const { messageId: textId, numberId } = payload
    const [from, to, body] = await Promise.all([
      numberText(ports, companyId, numberId),
      ports.sealing.open(companyId, payload.to),
      ports.sealing.open(companyId, payload.body),
    ])
    if (from === null || to === null || body === null) {
      return { answer: "rejected", errorCode: "erased" }
    }
    return ports.carrier.send({ textId, companyId, from, to, body })
  },
  ask: async ({ carrier }, { payload }) => {
    const known = await carrier.ask(payload.messageId)
    return known.answer === "unknown" ? "unknown" : known
  },
  isRepeatable: ({ carrier }) => carrier.isRepeatable,
  end: async (ports, work, answer, cause) => {
    const place = placeOf(work)
    const known = await recordText(ports, place, commandOf(place, answer), cause)
    if (known !== null) await settleText(ports, place, known, cause)
    return true
  },
  unknown: async () => ({ answer: "rejected", errorCode: "unknown_to_carrier" }),
  givenUp: { answer: "rejected", errorCode: "given_up" },
})

function placeOf({
  companyId,
  payload,
}: {
  readonly companyId: CompanyId
  readonly payload: Payload
}): TextPlace {
  const { stream, messageId } = payload
  return { companyId, recipient: { aggregate: RECIPIENT, stream }, messageId }
}

function commandOf({ messageId }: TextPlace, answer: Answer) {
  switch (answer.answer) {
    case "accepted":
      return { type: "AcceptText" as const, messageId, carrierId: answer.carrierId }
    case "rejected":
      return { type: "RejectText" as const, messageId, errorCode: answer.errorCode }
    case "delivered":
    case "undelivered": {
      const { carrierId } = answer
      const delivered = answer.answer === "delivered"
      const errorCode = answer.answer === "undelivered" ? answer.errorCode : null
      return { type: "ReportDelivery" as const, messageId, carrierId, delivered, errorCode }
    }
  }
}
