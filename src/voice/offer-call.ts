/** A call that came: whether it is taken at all, its slot, and its first minute. */
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { VoiceEvent } from "../../adapters/providers/voice/port.ts"
import { ledgerOf, PRICES } from "../../domain/charging/aggregates.ts"
import { accountOf, ledgerRevision } from "../../domain/charging/ledger-views.ts"
import type { CompanyId, KeyedHash } from "../../domain/kernel/ids.ts"
import { holdersOf } from "../../domain/kernel/slots.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { CallSettings } from "../../domain/phone/number-settings.ts"
import { settingsOf } from "../../domain/phone/phone-views.ts"
import { MOST_AT_ONCE, MOST_OF_ONE, callSlotsOf } from "../../domain/voice/aggregates.ts"
import type { TurnedAway, CallFact } from "../../domain/voice/call-events.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { callable, fullNumber, idSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallPlace } from "./find-call.ts"
import { readCall, tellCall } from "./find-call.ts"
import { payCall } from "./pay-call.ts"
import { priceOf, destinationPriceOf } from "../../domain/charging/price-book.ts"
import { z } from "zod"
import { parseCallId } from "../../domain/voice/ids.ts"
import { reaction } from "../frame/effects/reaction.ts"

/** The prices that a call keeps, whatever becomes of the book. */
type CallPrices = Pick<CallFact<"CallOffered">, "minuteMicros" | "legMicros" | "priceVersion">

/** Who shows no number, or anything that is none, is one caller: all of them together call so often. */
const NO_NUMBER = "anonymous"

/** A call as the carrier told of it, to a number of the company's. */
type Came = Omit<Extract<VoiceEvent, { readonly is: "call_came" }>, "is"> & {
  readonly numberId: NumberId
}

/** What becomes of calls to a number, as it is set up now. */
export async function settingsOfNumber(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<CallSettings> {
  const set = await runner.read(phoneOf(companyId), (state) => settingsOf(state, numberId))
  const { label: _label, optOutReply: _reply, ...settings } = set
  return settings
}

/**
 * Takes a call in, with a copy of its number's settings. Its first minute is charged here, so that phones ring at
 * once; a row does so where this process ends before. Again: nothing new.
 */
export async function offerCall(
  ports: Ports,
  place: CallPlace,
  came: Came,
  settings: CallSettings,
  cause: Cause,
): Promise<void> {
  const { companyId, callId } = place
  if ((await readCall(ports, place)) !== null) return
  const number = fullNumber(came.from)
  const callerTag = await ports.sealing.tag(companyId, number ?? NO_NUMBER)
  const from = number === null ? null : await ports.sealing.seal(companyId, callerTag, number)
  // A charge of its first minute can only stand behind what is here before it is offered.
  const { closed, revision } = await ports.runner.read(ledgerOf(companyId), (state) => {
    return { closed: accountOf(state).closed, revision: ledgerRevision(state) }
  })
  const turnedAway = closed ? "closed" : await takeSlot(ports, place, callerTag, cause)
  const { numberId, ref: carrierRef, startedAt, attestation } = came
  const told = await tellCall(
    ports,
    place,
    {
      type: "OfferCall",
      callId,
      numberId,
      from,
      callerTag,
      settings,
      carrierRef,
      startedAt,
      to: await ports.sealing.seal(companyId, COMPANY_SUBJECT, came.to),
      attestation,
      turnedAway,
      ...(await pricesOfCall(ports, companyId, settings)),
    },
    cause,
  )
  const isOwed = told.facts.some(({ type }) => type === "CallMinuteStarted")
  if (isOwed) await payCall(ports, place, cause, revision)
}

/**
 * Takes a slot; why there is none, null where the call has one. Where all are taken, those of calls that have
 * ended are freed first: their jobs may still wait, or free them right now.
 */
async function takeSlot(
  ports: Pick<Ports, "runner">,
  { companyId, callId }: CallPlace,
  callerTag: KeyedHash,
  cause: Cause,
): Promise<TurnedAway | null> {
  const caller = { tag: callerTag, most: MOST_OF_ONE }
  const command = { type: "TakeSlot" as const, holderId: callId, most: MOST_AT_ONCE, caller }
  const take = () => ports.runner.execute(callSlotsOf(companyId), command, cause)
  let taken = await take()
  if (!taken.accepted && taken.refusal.code === "company_limit") {
    await freeEndedCalls(ports, companyId, cause)
    taken = await take()
  }
  if (taken.accepted) return null
  return taken.refusal.code === "company_limit" ? "company_call_limit" : "caller_call_limit"
}

/** Frees the slots of calls that have ended. */
async function freeEndedCalls(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  cause: Cause,
): Promise<void> {
  for (const callId of await ports.runner.readLatest(callSlotsOf(companyId), holdersOf)) {
    const call = await readCall(ports, { companyId, callId })
    if (call !== null && call.endedAt !== null) await freeSlot(ports, { companyId, callId }, cause)
  }
}

async function freeSlot(
  { runner }: Pick<Ports, "runner">,
  { companyId, callId }: CallPlace,
  cause: Cause,
): Promise<void> {
  await runner.execute(callSlotsOf(companyId), { type: "FreeSlot", holderId: callId }, cause)
}

/** What a call costs that comes to a number with these settings. */
async function pricesOfCall(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  { ringTo }: CallSettings,
): Promise<CallPrices> {
  const phones = await Promise.all(ringTo.map(({ phone }) => sealing.open(companyId, phone)))
  // Who cannot be called is not: their country costs nothing.
  const countries = phones.map((phone) => callable(phone ?? "")?.country ?? null)
  return runner.read(PRICES, (book) => {
    const { unitPriceMicros: minuteMicros, priceVersion } = priceOf(book, "call_minute")
    const legMicros = countries.map((country) =>
      country === null ? minuteMicros : destinationPriceOf(book, country).callMicros,
    )
    return { minuteMicros, legMicros, priceVersion }
  })
}

/** A slot is looked into after this: whoever took it may have ended before the call was offered. */
const LOOK_INTO_AFTER_MS = 15 * 60_000

/** Frees the slot of a call that is over, or that was never offered. */
export const freeCallSlot = reaction({
  kind: "free-call-slot",
  payload: z.object({ callId: idSchema(parseCallId) }),
  from: {
    CallEnded: ({ callId, at }) => [{ name: callId, payload: { callId }, dueAt: at }],
    SlotTaken: ({ holderId, at }) => {
      const callId = parseCallId(holderId)
      if (callId === null) return []
      return [{ name: `${callId}:taken`, payload: { callId }, dueAt: at + LOOK_INTO_AFTER_MS }]
    },
  },
  until: { SlotFreed: ({ holderId }) => [`${holderId}:taken`] },
  giveUp: "owed",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const call = await readCall(ports, { companyId, callId })
    if (call !== null && call.endedAt === null) {
      return { result: "later", dueAt: ports.clock.now() + LOOK_INTO_AFTER_MS }
    }
    await freeSlot(ports, { companyId, callId }, causedBy(`free-call-slot ${name}`))
    return { result: "done" }
  },
})
