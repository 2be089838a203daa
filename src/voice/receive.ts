/**
 * What the carrier says of calls, as commands. It may say it twice, late and in another order: ids derive from
 * the carrier's own names, and the call's table takes what fits.
 */
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { knownInTime } from "../../adapters/providers/outside.ts"
import type { LegNamed, VoiceEvent } from "../../adapters/providers/voice/port.ts"
import type { CallCommand } from "../../domain/voice/call-commands.ts"
import type { CallId } from "../../domain/voice/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { holderOfCalled } from "../../projections/voice/called-numbers.ts"
import { findCallRow } from "../../projections/voice/calls.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallPlace } from "./find-call.ts"
import { tellCall } from "./find-call.ts"
import { offerCall, settingsOfNumber } from "./offer-call.ts"

declare module "../frame/counts.ts" {
  interface Counted {
    /** What a carrier said of calls to numbers that nobody here holds. */
    readonly calls_to_nobody: never
  }
}

/** A number that was bought a moment ago is waited for so long. */
const CATCH_UP_MS = 1_500

/** The id of a call, by what the carrier calls the caller's leg. */
export const callIdOf = (ref: string): CallId => derivedId("call", "voice", ref)

/**
 * Who holds a number, by everything that is stored; null where nobody here does.
 *
 * @throws Unavailable where that is not known in time
 */
export async function holderOf(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  number: string,
): Promise<{ readonly companyId: CompanyId; readonly numberId: NumberId } | null> {
  let found = await holderOfCalled(ports.readAll, number)
  if (found === null) {
    const isThere = await ports.projector.waitFor(await ports.store.head(), CATCH_UP_MS, ["calls"])
    // Nobody's number would be turned away: who does not know yet says so.
    if (!isThere) throw new Unavailable("the read model of calls does not catch up")
    found = await holderOfCalled(ports.readAll, number)
  }
  return found === null ? null : { companyId: found.company_id, numberId: found.number_id }
}

/** Which leg is meant; null where nobody here holds the number that was called. */
async function legOf(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  named: LegNamed,
): Promise<(CallPlace & { readonly leg: number; readonly ref: string | null }) | null> {
  if (named.of === "leg") return named
  const { ref, to } = named
  const known = await knownPlace(ports, ref)
  if (known !== null) return { ...known, leg: 0, ref }
  const holder = await holderOf(ports, to)
  // Whoever holds the number now may have bought it while the call went on: what is stored of it is seen by now.
  const place = (await knownPlace(ports, ref)) ?? holder
  return place === null ? null : { companyId: place.companyId, callId: callIdOf(ref), leg: 0, ref }
}

/** Whose call it is, by what is known of it: its number may have been released, and be another company's. */
async function knownPlace(
  { readAll }: Pick<Ports, "readAll">,
  ref: string,
): Promise<CallPlace | null> {
  const callId = callIdOf(ref)
  const row = await findCallRow(readAll, callId)
  return row === null ? null : { companyId: row.company_id, callId }
}

/**
 * Takes in what the carrier says; the call that it is about, null where it is nobody's of this installation.
 *
 * @throws Unavailable, and what the writer throws where it is not known to be stored: the carrier says it again
 */
export async function receiveCallEvent(
  ports: Ports,
  event: VoiceEvent,
  cause: Cause,
): Promise<CallPlace | null> {
  if (event.is === "call_came") {
    const holder = await holderOf(ports, event.to)
    // Said once more of a call that is known, it calls nobody else who holds its number now.
    const known = await knownPlace(ports, event.ref)
    if (known !== null) return known
    if (holder === null) return nobodys(ports)
    const place = { companyId: holder.companyId, callId: callIdOf(event.ref) }
    const settings = await settingsOfNumber(ports, holder.companyId, holder.numberId)
    await offerCall(ports, place, { ...event, numberId: holder.numberId }, settings, cause)
    return place
  }
  const found = await legOf(ports, event.leg)
  if (found === null) return nobodys(ports)
  const { companyId, callId, leg, ref } = found
  const whole = leg === 0 ? await withOpening(ports, event, ref) : event
  await tellCall(ports, { companyId, callId }, commandOf(whole, callId, leg, ref), cause)
  return { companyId, callId }
}

/** It is no call of this installation. */
function nobodys({ counts }: Pick<Ports, "counts">): null {
  counts.add("calls_to_nobody", {})
  return null
}

type OfLeg = Exclude<VoiceEvent, { readonly is: "call_came" }>

/**
 * The end of a caller's leg with when it was opened, for its minutes are counted from there: a carrier that does
 * not say so by itself is asked, and one that does not answer has never opened it.
 */
async function withOpening(
  { voice, pacer }: Pick<Ports, "pacer" | "voice">,
  event: OfLeg,
  ref: string | null,
): Promise<OfLeg> {
  if (event.is !== "leg_gone" || event.answeredAt !== null || ref === null) return event
  const known = await knownInTime(pacer, "the carrier of calls", voice.askCall(ref))
  return { ...event, answeredAt: known?.answeredAt ?? null }
}

function commandOf(event: OfLeg, callId: CallId, leg: number, ref: string | null): CallCommand {
  switch (event.is) {
    case "leg_placed":
      return { type: "PlaceLeg", callId, leg, ref: event.ref }
    case "leg_open":
      return { type: "OpenLeg", callId, leg, answeredAt: event.answeredAt, ref }
    case "digits":
      return { type: "PressDigits", callId, leg, digits: event.digits }
    case "ask_over":
      return { type: "EndAsk", callId, leg }
    case "said":
      return { type: "FinishSaying", callId, leg }
    case "leg_gone": {
      const { goneAt, answeredAt } = event
      return { type: "EndLeg", callId, leg, goneAt, answeredAt }
    }
    case "audio_ready": {
      const { kind, seconds, carrierRef } = event
      return { type: "SaveAudio", callId, kind, seconds, carrierRef }
    }
  }
}
