/** Handing a queued text message to the carrier, and finding out what became of it. */
import { z } from "zod"
import type { CarrierKnowledge } from "../../../adapters/providers/carrier/port.ts"
import { RECIPIENT } from "../../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseMessageId, parseNumberId } from "../../../domain/phone/ids.ts"
import { idSchema, sealed } from "../../frame/kernel/schema.ts"
import { effect } from "../../frame/effects/effect.ts"
import { knownNumber } from "../numbers.ts"
import type { TextPlace } from "../texts.ts"
import { lookAtText, recordText, settleText } from "../texts.ts"
import type { Ports } from "../../frame/ports.ts"

/** What a row carries: nothing in it is readable without the recipient's key. */
const Payload = z.object({
  stream: z.string(),
  messageId: idSchema(parseMessageId),
  chargeId: z.string().nullable(),
  refundMicros: z.number(),
  numberId: idSchema(parseNumberId),
  to: sealed,
  body: sealed,
  queuedAt: z.number(),
})

type Payload = z.infer<typeof Payload>
type Answer = Exclude<CarrierKnowledge, { answer: "unknown" }>

/** The reactions that send text messages. */
export const textEffect = effect<Payload, Answer>({
  kind: "send-text",
  askKind: "ask-text",
  payload: Payload,
  provider: "the carrier",
  about: "this text",
  unknownTo: "its recipient does not know this text",
  endsWithCompany: true,
  isPersonal: true,
  from: {
    TextQueued: (fact, { stream }) => {
      const { messageId, chargeId, refundMicros, numberId, to, body, at } = fact
      const text = { messageId, chargeId, refundMicros, numberId, to, body }
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
    const [text, body] = await Promise.all([
      outgoing(ports, companyId, payload),
      ports.sealing.open(companyId, payload.body),
    ])
    if (text === null || body === null) return { answer: "rejected", errorCode: "erased" }
    const { isHeld, ...rest } = text
    if (!isHeld) return { answer: "rejected", errorCode: "number_released" }
    return ports.carrier.send({ ...rest, body })
  },
  ask: async (ports, { companyId, payload }) => {
    const text = await outgoing(ports, companyId, payload)
    // Whom it was to is erased: nobody can say which text is meant.
    if (text === null) return "unknown"
    const { isHeld: _isHeld, ...rest } = text
    const known = await ports.carrier.ask({ ...rest, queuedAt: payload.queuedAt })
    return known.answer === "unknown" ? "unknown" : known
  },
  isRepeatable: ({ carrier }) => carrier.isRepeatable,
  end: async (ports, work, answer, cause) => {
    const place = placeOf(work)
    const command = commandOf(place, work.payload, answer)
    const known = await recordText(ports, place, command, cause)
    if (known !== null) await settleText(ports, place, known, cause)
    return true
  },
  unknown: async ({ carrier, clock }, { payload: { queuedAt } }) => {
    const isNo = clock.now() - queuedAt >= carrier.unknownIsNoAfterMs
    return isNo ? { answer: "rejected", errorCode: "unknown_to_carrier" } : null
  },
  givenUp: { answer: "rejected", errorCode: "given_up" },
})

/** A text without what it says; null where who it is from or to was erased. */
async function outgoing(
  ports: Ports,
  companyId: CompanyId,
  { messageId: textId, numberId, to: sealedTo }: Payload,
) {
  const [from, to] = await Promise.all([
    knownNumber(ports, companyId, numberId),
    ports.sealing.open(companyId, sealedTo),
  ])
  if (from === null || to === null) return null
  const { number, isTest, isHeld } = from
  return { textId, companyId, from: number, to, isTest, isHeld }
}

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

function commandOf({ messageId }: TextPlace, { to: phone }: Payload, answer: Answer) {
  switch (answer.answer) {
    case "accepted":
      return { type: "AcceptText" as const, messageId, carrierId: answer.carrierId }
    case "rejected":
      if (answer.errorCode === "opted_out") {
        return { type: "StopAtCarrier" as const, messageId, phone }
      }
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
