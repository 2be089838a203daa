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
import { parseCallId } from "../../domain/kernel/calls.ts"
import { reaction } from "../frame/effects/reaction.ts"

/** The prices of a call, fixed when it comes in. */
type CallPrices = Pick<CallFact<"CallOffered">, "minuteMicros" | "legMicros" | "priceVersion">

/** All callers without a valid number count as one caller towards the limit of calls. */
const ANONYMOUS_CALLER = "anonymous"

/** An incoming call as the carrier reports it, to a number of the company. */
type IncomingCall = Omit<Extract<VoiceEvent, { readonly type: "call_came" }>, "type"> & {
  readonly numberId: NumberId
}

/** Reads the current call settings of a number. */
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
 * Receives a call once, and charges its first minute so that phones ring immediately; a job does so after a
 * crash.
 */
export async function offerCall(
  ports: Ports,
  reference: CallReference,
  incoming: IncomingCall,
  settings: CallSettings,
  cause: Cause,
): Promise<void> {
  const { companyId, callId } = reference
  if ((await readCall(ports, reference)) !== null) return
  const number = parseFullNumber(incoming.from)
  const callerTag = await ports.sealing.tag(companyId, number ?? ANONYMOUS_CALLER)
  const from = number === null ? null : await ports.sealing.seal(companyId, callerTag, number)
  // Read before the offer: a charge of the first minute can only come after this revision.
  const { closed, revision } = await ports.runner.read(ledgerStreamOf(companyId), (state) => {
    return { closed: accountOf(state).closed, revision: ledgerRevision(state) }
  })
  const rejectReason = closed ? "closed" : await reserveSlot(ports, reference, callerTag, cause)
  const { numberId, ref: carrierRef, startedAt, attestation } = incoming
  const outcome = await executeCallCommand(
    ports,
    reference,
    {
      type: "OfferCall",
      callId,
      numberId,
      from,
      callerTag,
      settings,
      carrierRef,
      startedAt,
      to: await ports.sealing.seal(companyId, COMPANY_SUBJECT, incoming.to),
      attestation,
      rejectReason,
      ...(await readCallPrices(ports, companyId, settings)),
    },
    cause,
  )
  const isOwed = outcome.facts.some(({ type }) => type === "CallMinuteStarted")
  if (isOwed) await chargeCall(ports, reference, cause, revision)
}

/**
 * Reserves a slot; returns the reason of a rejection, or null. Slots of ended calls are released first if
 * needed.
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
  const reserve = () => ports.runner.execute(callSlotsStreamOf(companyId), command, cause)
  let reservation = await reserve()
  if (!reservation.accepted && reservation.refusal.code === "company_limit") {
    await releaseEndedCallSlots(ports, companyId, cause)
    reservation = await reserve()
  }
  if (reservation.accepted) return null
  return reservation.refusal.code === "company_limit" ? "company_call_limit" : "caller_call_limit"
}

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

async function readCallPrices(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  { ringTo }: CallSettings,
): Promise<CallPrices> {
  const phones = await Promise.all(ringTo.map(({ phone }) => sealing.unseal(companyId, phone)))
  // A phone without a callable number never rings, so it gets the minute price.
  const countries = phones.map((phone) => parseForwardingNumber(phone ?? "")?.country ?? null)
  return runner.read(PRICES_STREAM, (book) => {
    const { unitPriceMicros: minuteMicros, priceVersion } = priceOfItem(book, "call_minute")
    const legMicros = countries.map((country) =>
      country === null ? minuteMicros : destinationPriceOf(book, country).callMicros,
    )
    return { minuteMicros, legMicros, priceVersion }
  })
}

/** A slot is checked after this time, in case its process died before the call was offered. */
const SLOT_CHECK_AFTER_MS = 15 * 60_000

/** Releases the slot of a call that ended or was never offered. */
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
  discard: "never",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const call = await readCall(ports, { companyId, callId })
    if (call !== null && call.endedAt === null) {
      return { result: "rescheduled", dueAt: ports.clock.now() + SLOT_CHECK_AFTER_MS }
    }
    await releaseSlot(ports, { companyId, callId }, causedBy(`free-call-slot ${name}`))
    return { result: "done" }
  },
})
