/** A call that came: whether it is taken at all, its slot, and its first minute. */
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { VoiceEvent } from "../../adapters/providers/voice/port.ts"
import { ledgerStreamOf, PRICES_STREAM } from "../../domain/charging/aggregates.ts"
import { accountOf, ledgerRevision } from "../../domain/charging/ledger-views.ts"
import type { CompanyId, KeyedHash } from "../../domain/kernel/ids.ts"
import { slotHoldersOf } from "../../domain/kernel/slots.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { CallSettings } from "../../domain/phone/number-settings.ts"
import { numberSettingsOf } from "../../domain/phone/phone-views.ts"
import {
  MAX_CONCURRENT_CALLS,
  MAX_CALLS_PER_CALLER,
  callSlotsStreamOf,
} from "../../domain/voice/aggregates.ts"
import type { CallRejectReason, CallFact } from "../../domain/voice/call-events.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { parseForwardingNumber, parseFullNumber, idSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallReference } from "./call-stream.ts"
import { readCall, executeCallCommand } from "./call-stream.ts"
import { chargeCall } from "./charge-call.ts"
import { priceOfItem, destinationPriceOf } from "../../domain/charging/price-book.ts"
import { z } from "zod"
import { parseCallId } from "../../domain/voice/ids.ts"
import { reaction } from "../frame/effects/reaction.ts"

/** The prices that a call keeps, whatever becomes of the book. */
type CallPrices = Pick<CallFact<"CallOffered">, "minuteMicros" | "legMicros" | "priceVersion">

/** Who shows no number, or anything that is none, is one caller: all of them together call so often. */
const ANONYMOUS_CALLER = "anonymous"

/** A call as the carrier told of it, to a number of the company's. */
type IncomingCall = Omit<Extract<VoiceEvent, { readonly type: "call_came" }>, "type"> & {
  readonly numberId: NumberId
}

/** What becomes of calls to a number, as it is set up now. */
export async function readCallSettings(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<CallSettings> {
  const set = await runner.read(phoneStreamOf(companyId), (state) =>
    numberSettingsOf(state, numberId),
  )
  const { label: _label, optOutReply: _reply, ...settings } = set
  return settings
}

/**
 * Takes a call in, with a copy of its number's settings. Its first minute is charged here, so that phones ring at
 * once; a row does so where this process ends before. Again: nothing new.
 */
export async function offerCall(
  ports: Ports,
  place: CallReference,
  came: IncomingCall,
  settings: CallSettings,
  cause: Cause,
): Promise<void> {
  const { companyId, callId } = place
  if ((await readCall(ports, place)) !== null) return
  const number = parseFullNumber(came.from)
  const callerTag = await ports.sealing.tag(companyId, number ?? ANONYMOUS_CALLER)
  const from = number === null ? null : await ports.sealing.seal(companyId, callerTag, number)
  // A charge of its first minute can only stand behind what is here before it is offered.
  const { closed, revision } = await ports.runner.read(ledgerStreamOf(companyId), (state) => {
    return { closed: accountOf(state).closed, revision: ledgerRevision(state) }
  })
  const rejectReason = closed ? "closed" : await reserveSlot(ports, place, callerTag, cause)
  const { numberId, ref: carrierRef, startedAt, attestation } = came
  const told = await executeCallCommand(
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
      rejectReason,
      ...(await readCallPrices(ports, companyId, settings)),
    },
    cause,
  )
  const isOwed = told.facts.some(({ type }) => type === "CallMinuteStarted")
  if (isOwed) await chargeCall(ports, place, cause, revision)
}

/**
 * Takes a slot; why there is none, null where the call has one. Where all are taken, those of calls that have
 * ended are freed first: their jobs may still wait, or free them right now.
 */
async function reserveSlot(
  ports: Pick<Ports, "runner">,
  { companyId, callId }: CallReference,
  callerTag: KeyedHash,
  cause: Cause,
): Promise<CallRejectReason | null> {
  const caller = { tag: callerTag, maxSlots: MAX_CALLS_PER_CALLER }
  const command = {
    type: "ReserveSlot" as const,
    holderId: callId,
    maxSlots: MAX_CONCURRENT_CALLS,
    caller,
  }
  const take = () => ports.runner.execute(callSlotsStreamOf(companyId), command, cause)
  let taken = await take()
  if (!taken.accepted && taken.refusal.code === "company_limit") {
    await releaseEndedCallSlots(ports, companyId, cause)
    taken = await take()
  }
  if (taken.accepted) return null
  return taken.refusal.code === "company_limit" ? "company_call_limit" : "caller_call_limit"
}

/** Frees the slots of calls that have ended. */
async function releaseEndedCallSlots(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  cause: Cause,
): Promise<void> {
  for (const callId of await ports.runner.readLatest(callSlotsStreamOf(companyId), slotHoldersOf)) {
    const call = await readCall(ports, { companyId, callId })
    if (call !== null && call.endedAt !== null)
      await releaseSlot(ports, { companyId, callId }, cause)
  }
}

async function releaseSlot(
  { runner }: Pick<Ports, "runner">,
  { companyId, callId }: CallReference,
  cause: Cause,
): Promise<void> {
  await runner.execute(
    callSlotsStreamOf(companyId),
    { type: "ReleaseSlot", holderId: callId },
    cause,
  )
}

/** What a call costs that comes to a number with these settings. */
async function readCallPrices(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  { ringTo }: CallSettings,
): Promise<CallPrices> {
  const phones = await Promise.all(ringTo.map(({ phone }) => sealing.unseal(companyId, phone)))
  // Who cannot be called is not: their country costs nothing.
  const countries = phones.map((phone) => parseForwardingNumber(phone ?? "")?.country ?? null)
  return runner.read(PRICES_STREAM, (book) => {
    const { unitPriceMicros: minuteMicros, priceVersion } = priceOfItem(book, "call_minute")
    const legMicros = countries.map((country) =>
      country === null ? minuteMicros : destinationPriceOf(book, country).callMicros,
    )
    return { minuteMicros, legMicros, priceVersion }
  })
}

/** A slot is looked into after this: whoever took it may have ended before the call was offered. */
const SLOT_CHECK_AFTER_MS = 15 * 60_000

/** Frees the slot of a call that is over, or that was never offered. */
export const releaseCallSlot = reaction({
  kind: "free-call-slot",
  payload: z.object({ callId: idSchema(parseCallId) }),
  on: {
    CallEnded: ({ callId, at }) => [{ name: callId, payload: { callId }, dueAt: at }],
    SlotTaken: ({ holderId, at }) => {
      const callId = parseCallId(holderId)
      if (callId === null) return []
      return [{ name: `${callId}:taken`, payload: { callId }, dueAt: at + SLOT_CHECK_AFTER_MS }]
    },
  },
  endOn: { SlotFreed: ({ holderId }) => [`${holderId}:taken`] },
  discard: "owed",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const call = await readCall(ports, { companyId, callId })
    if (call !== null && call.endedAt === null) {
      return { result: "later", dueAt: ports.clock.now() + SLOT_CHECK_AFTER_MS }
    }
    await releaseSlot(ports, { companyId, callId }, causedBy(`free-call-slot ${name}`))
    return { result: "done" }
  },
})
