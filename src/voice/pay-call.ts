/**
 * The minutes of a call: each is charged once, `<callId>:<n>`, open until it is known to have begun, to the
 * company alone. What a call's facts say of its minutes is brought into the ledger here, whoever comes to it
 * first, and again after a crash at any line.
 */
import { knownInTime } from "../../adapters/providers/outside.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { ledgerRevision } from "../../domain/charging/ledger-views.ts"
import {
  MINUTE_MS,
  firstMinutePrice,
  minutePrice,
  minutesOf,
  startOfMinute,
} from "../../domain/voice/call-minutes.ts"
import type { Live } from "../../domain/voice/call-state.ts"
import { missedOf } from "../../domain/voice/watched.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import { chargeByName } from "../frame/effects/charge-by-name.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallPlace } from "./find-call.ts"
import { readCall, tellCall } from "./find-call.ts"
import { settleMinutes } from "./settle-minutes.ts"

/** What the charge of a minute is called (phone.md §2). */
const minuteName = (callId: string, minute: number): ChargeId => `${callId}:${minute}`

/**
 * Begins and charges every minute that is due, and ends the charges of those of which it is known whether they
 * began; the call as it then stands, null where there is none.
 *
 * @param searchedTo up to where the first minute is known not to be charged; null where it is looked for
 */
export async function payCall(
  ports: Ports,
  place: CallPlace,
  cause: Cause,
  searchedTo: number | null = null,
): Promise<Live | null> {
  let call = await readCall(ports, place)
  for (let knownTo = searchedTo; call !== null;) {
    const { owed, next } = minutesOf(call)
    if (owed !== null) {
      call = await payMinute(ports, place, call, owed, knownTo, cause)
    } else if (next !== null && next.dueAt <= ports.clock.now()) {
      // A charge of this minute can only stand behind what is here before it begins.
      knownTo = await ports.runner.read(ledgerOf(place.companyId), ledgerRevision)
      const begun = await beginMinute(ports, place, call, next.minute, cause)
      if (!begun.isBegun) knownTo = null
      call = begun.call
      continue
    } else break
    knownTo = null
  }
  if (call !== null) await settleMinutes(ports, place, call, cause)
  return call
}

/** Begins a minute, unless the carrier says that the caller has gone; a call that is over was spoken. */
async function beginMinute(
  ports: Ports,
  place: CallPlace,
  call: Live,
  minute: number,
  cause: Cause,
): Promise<{ readonly call: Live | null; readonly isBegun: boolean }> {
  const { callId } = place
  const isSeen = call.phase !== "ended" && (await seeCaller(ports, place, call, cause))
  const command = { type: "BeginMinute" as const, callId, minute, isCallerPresent: isSeen }
  const told = await tellCall(ports, place, command, cause)
  return { call: told.call, isBegun: told.facts.some(({ type }) => type === "CallMinuteStarted") }
}

/** Whether the carrier says that the caller is there; what it says that was missed is told to the call. */
export async function seeCaller(
  ports: Ports,
  place: CallPlace,
  { offered, heardAt }: Live,
  cause: Cause,
): Promise<boolean> {
  const { voice, pacer } = ports
  const asked = voice.askCall(offered.carrierRef)
  const knowledge = await knownInTime(pacer, "the carrier of calls", asked)
  if (knowledge === null) return false
  for (const missed of missedOf(place.callId, 0, knowledge, heardAt)) {
    await tellCall(ports, place, missed, cause)
  }
  return knowledge.isAlive
}

/** Charges a minute and tells the call so, or that it was refused. */
async function payMinute(
  ports: Ports,
  place: CallPlace,
  call: Live,
  minute: number,
  knownTo: number | null,
  cause: Cause,
): Promise<Live | null> {
  const isPaid = await chargeMinute(ports, place, call, minute, knownTo, cause)
  const type = isPaid ? ("PayMinute" as const) : ("RefuseMinute" as const)
  return (await tellCall(ports, place, { type, callId: place.callId, minute }, cause)).call
}

/** Charges a minute that is not charged yet; false where the ledger refuses it. */
async function chargeMinute(
  ports: Ports,
  { companyId, callId }: CallPlace,
  call: Live,
  minute: number,
  knownTo: number | null,
  cause: Cause,
): Promise<boolean> {
  const named = { chargeId: minuteName(callId, minute), knownTo }
  const charge = () => chargeOf(call, minute, ports.clock.now())
  const refused = await chargeByName(ports, companyId, named, charge, cause)
  if (refused !== null) ports.keepRefusal(companyId, refused)
  return refused === null
}

function chargeOf(call: Live, minute: number, now: number) {
  const { unitPriceMicros: laterMicros, priceVersion } = minutePrice(call)
  const unitPriceMicros = minute === 1 ? firstMinutePrice(call) : laterMicros
  const startedAt = minute === 1 ? null : startOfMinute(call, minute)
  // A minute that is over was spoken while nobody could charge it.
  const isLate = startedAt !== null && now - startedAt > MINUTE_MS
  return {
    via: "company" as const,
    keyId: null,
    personId: null,
    class: "general" as const,
    item: "call_minute",
    quantity: 1,
    unitPriceMicros,
    priceVersion,
    amountMicros: unitPriceMicros,
    resource: call.offered.callId,
    isPending: true,
    exemption: null,
    requestedAt: now,
    dueAt: startedAt,
    servedFrom: isLate ? startedAt : null,
  }
}
