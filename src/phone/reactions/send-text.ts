/** Hands a queued text to the carrier, and finds out what became of one it was silent about. */
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import type { CarrierKnowledge } from "../../../adapters/providers/carrier/port.ts"
import {
  ProviderSilent,
  ProviderUnavailable,
  inTime,
  knownInTime,
} from "../../../adapters/providers/outside.ts"
import type { TakenWork, WorkResult } from "../../../adapters/work/port.ts"
import type { CompanyId, NumberId } from "../../../domain/kernel/ids.ts"
import { heldNumbers } from "../../../domain/phone/phone.ts"
import type { TextWork } from "../../../projections/work.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import {
  PARK_AFTER_MS,
  UNKNOWN_IS_NO_AFTER_MS,
  askAgainAfter,
} from "../../frame/effects/ask-again.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import type { TextPlace } from "./settle-text.ts"
import { lookAtText, recordText, settleText } from "./settle-text.ts"

const MINUTE_MS = 60_000

const CARRIER = "the carrier"

/** Sends a queued text once. */
export async function sendText(ports: Ports, work: TakenWork): Promise<WorkResult> {
  const payload = work.payload as TextWork
  const place = placeOf(work, payload)
  const cause = causedBy(`send-text ${payload.messageId}`)
  const known = await lookAtText(ports, place)
  if (known === null) return { result: "park", reason: "its recipient does not know this text" }
  if (await settleText(ports, place, known, cause)) return { result: "done" }

  const [from, to, body] = await Promise.all([
    numberOf(ports, place.companyId, payload.numberId),
    ports.sealing.open(place.companyId, payload.to),
    ports.sealing.open(place.companyId, payload.body),
  ])
  if (from === null || to === null || body === null) {
    return record(ports, place, { answer: "rejected", errorCode: "erased" }, cause)
  }
  try {
    const { companyId, messageId: textId } = place
    const text = { textId, companyId, from, to, body }
    const answer = await inTime(ports.pacer, CARRIER, ports.carrier.send(text))
    return await record(ports, place, answer, cause)
  } catch (error) {
    if (error instanceof ProviderUnavailable) return untilAvailable(ports, work, payload)
    if (!(error instanceof ProviderSilent)) throw error
    return askFrom(ports.clock.now() + MINUTE_MS, payload)
  }
}

/**
 * A carrier that takes nothing is tried for three days, then it is asked: it may have taken the text
 * from a process that died before it could say so.
 */
function untilAvailable(ports: Ports, work: TakenWork, payload: TextWork): WorkResult {
  const now = ports.clock.now()
  if (now - payload.queuedAt >= PARK_AFTER_MS) return askFrom(now, payload)
  return retryLater(work, "the carrier is not available")
}

/** From here on the text is asked about, never sent again; other texts to them may go on. */
function askFrom(dueAt: number, { messageId }: TextWork): WorkResult {
  return { result: "later", dueAt, kind: "ask-text", subject: messageId }
}

/** Asks the carrier what became of a text it was silent about. */
export async function askText(ports: Ports, work: TakenWork): Promise<WorkResult> {
  const payload = work.payload as TextWork
  const place = placeOf(work, payload)
  const cause = causedBy(`ask-text ${payload.messageId}`)
  const known = await lookAtText(ports, place)
  if (known === null) return { result: "park", reason: "its recipient does not know this text" }
  if (await settleText(ports, place, known, cause)) return { result: "done" }

  const ageMs = ports.clock.now() - payload.queuedAt
  const answer = await knownInTime(ports.pacer, CARRIER, ports.carrier.ask(payload.messageId))
  if (answer !== null && answer.answer !== "unknown") return record(ports, place, answer, cause)
  if (answer !== null && ageMs >= UNKNOWN_IS_NO_AFTER_MS) {
    return record(ports, place, { answer: "rejected", errorCode: "unknown_to_carrier" }, cause)
  }
  if (ageMs >= PARK_AFTER_MS) {
    return { result: "park", reason: "the carrier has been silent about this text for 72 hours" }
  }
  return { result: "later", dueAt: ports.clock.now() + askAgainAfter(ageMs, answer !== null) }
}

function placeOf(work: TakenWork, payload: TextWork): TextPlace {
  const { stream, messageId } = payload
  return { companyId: work.companyId ?? "", stream, messageId }
}

/** What the carrier said becomes facts, and the charge ends. */
async function record(
  ports: Ports,
  place: TextPlace,
  answer: Exclude<CarrierKnowledge, { answer: "unknown" }>,
  cause: Cause,
): Promise<WorkResult> {
  const { messageId } = place
  const known = await recordText(ports, place, commandOf(messageId, answer), cause)
  if (known !== null) await settleText(ports, place, known, cause)
  return { result: "done" }
}

function commandOf(messageId: string, answer: Exclude<CarrierKnowledge, { answer: "unknown" }>) {
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

/** The text of a number the company holds; null where it is not held or was erased. */
async function numberOf(
  ports: Ports,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<string | null> {
  const sealed = await ports.runner.look(
    phoneOf(companyId),
    (state) => heldNumbers(state).find((one) => one.numberId === numberId)?.number ?? null,
  )
  return sealed === null ? null : ports.sealing.open(companyId, sealed)
}
