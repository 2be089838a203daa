/**
 * What the carrier says of calls, as commands. It may say it twice, late and in another order: ids derive from
 * the carrier's own names, and the call's table takes what fits.
 */
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { providerResultOrNull } from "../../adapters/providers/provider-errors.ts"
import type { LegIdentity, VoiceEvent } from "../../adapters/providers/voice/port.ts"
import type { CallCommand } from "../../domain/voice/call-commands.ts"
import type { CallId } from "../../domain/voice/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { findHolderOfCalledNumber } from "../../projections/voice/called-numbers.ts"
import { findCallRow } from "../../projections/voice/calls.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallReference } from "./call-stream.ts"
import { executeCallCommand } from "./call-stream.ts"
import { offerCall, readCallSettings } from "./offer-call.ts"

declare module "../frame/counters.ts" {
  interface CounterLabels {
    /** What a carrier said of calls to numbers that nobody here holds. */
    readonly calls_to_nobody: never
  }
}

/** A number that was bought a moment ago is waited for so long. */
const READ_MODEL_WAIT_MS = 1_500

/** The id of a call, by what the carrier calls the caller's leg. */
export const callIdOf = (ref: string): CallId => derivedId("call", "voice", ref)

/**
 * Who holds a number, by everything that is stored; null where nobody here does.
 *
 * @throws Unavailable where that is not known in time
 */
export async function findCurrentNumberHolder(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  number: string,
): Promise<{ readonly companyId: CompanyId; readonly numberId: NumberId } | null> {
  let found = await findHolderOfCalledNumber(ports.readAll, number)
  if (found === null) {
    const isThere = await ports.projector.waitUntilWritten(
      await ports.store.head(),
      READ_MODEL_WAIT_MS,
      ["calls"],
    )
    // Nobody's number would be turned away: who does not know yet says so.
    if (!isThere) throw new Unavailable("the read model of calls does not catch up")
    found = await findHolderOfCalledNumber(ports.readAll, number)
  }
  return found === null ? null : { companyId: found.company_id, numberId: found.number_id }
}

/** Which leg is meant; null where nobody here holds the number that was called. */
async function findLeg(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  named: LegIdentity,
): Promise<(CallReference & { readonly leg: number; readonly ref: string | null }) | null> {
  if (named.kind === "leg") return named
  const { ref, to } = named
  const known = await findStoredCall(ports, ref)
  if (known !== null) return { ...known, leg: 0, ref }
  const holder = await findCurrentNumberHolder(ports, to)
  // Whoever holds the number now may have bought it while the call went on: what is stored of it is seen by now.
  const place = (await findStoredCall(ports, ref)) ?? holder
  return place === null ? null : { companyId: place.companyId, callId: callIdOf(ref), leg: 0, ref }
}

/** Whose call it is, by what is known of it: its number may have been released, and be another company's. */
async function findStoredCall(
  { readAll }: Pick<Ports, "readAll">,
  ref: string,
): Promise<CallReference | null> {
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
): Promise<CallReference | null> {
  if (event.type === "call_came") {
    const holder = await findCurrentNumberHolder(ports, event.to)
    // Said once more of a call that is known, it calls nobody else who holds its number now.
    const known = await findStoredCall(ports, event.ref)
    if (known !== null) return known
    if (holder === null) return countUnknownCall(ports)
    const place = { companyId: holder.companyId, callId: callIdOf(event.ref) }
    const settings = await readCallSettings(ports, holder.companyId, holder.numberId)
    await offerCall(ports, place, { ...event, numberId: holder.numberId }, settings, cause)
    return place
  }
  const found = await findLeg(ports, event.leg)
  if (found === null) return countUnknownCall(ports)
  const { companyId, callId, leg, ref } = found
  const whole = leg === 0 ? await withAnswerTime(ports, event, ref) : event
  await executeCallCommand(ports, { companyId, callId }, commandOf(whole, callId, leg, ref), cause)
  return { companyId, callId }
}

/** It is no call of this installation. */
function countUnknownCall({ counters }: Pick<Ports, "counters">): null {
  counters.increment("calls_to_nobody", {})
  return null
}

type LegEvent = Exclude<VoiceEvent, { readonly type: "call_came" }>

/**
 * The end of a caller's leg with when it was opened, for its minutes are counted from there: a carrier that does
 * not say so by itself is asked, and one that does not answer has never opened it.
 */
async function withAnswerTime(
  { voice, pacer }: Pick<Ports, "pacer" | "voice">,
  event: LegEvent,
  ref: string | null,
): Promise<LegEvent> {
  if (event.type !== "leg_gone" || event.answeredAt !== null || ref === null) return event
  const known = await providerResultOrNull(pacer, "the carrier of calls", voice.checkLegStatus(ref))
  return { ...event, answeredAt: known?.answeredAt ?? null }
}

function commandOf(event: LegEvent, callId: CallId, leg: number, ref: string | null): CallCommand {
  switch (event.type) {
    case "leg_placed":
      return { type: "MarkLegDialed", callId, leg, ref: event.ref }
    case "leg_open":
      return { type: "AnswerLeg", callId, leg, answeredAt: event.answeredAt, ref }
    case "digits":
      return { type: "PressDigits", callId, leg, digits: event.digits }
    case "ask_over":
      return { type: "EndDigitPrompt", callId, leg }
    case "said":
      return { type: "FinishPlayback", callId, leg }
    case "leg_gone": {
      const { goneAt, answeredAt } = event
      return { type: "EndLeg", callId, leg, goneAt, answeredAt }
    }
    case "audio_ready": {
      const { kind, seconds, carrierRef } = event
      return { type: "RecordAudioAvailable", callId, kind, seconds, carrierRef }
    }
  }
}
