/**
 * Events may come twice, late or out of order: ids derive from the carrier's, and the call accepts what fits.
 */
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { providerResultOrNull } from "../../adapters/providers/provider-errors.ts"
import type { LegIdentity, VoiceEvent } from "../../adapters/providers/voice/port.ts"
import type { CallCommand } from "../../domain/voice/call-commands.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
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
    /** Carrier events about calls to numbers that no company holds. */
    readonly calls_to_unknown_numbers: never
  }
}

/** How long a call waits for a number that was bought a moment ago. */
const READ_MODEL_WAIT_MS = 1_500

/** The id of a call, derived from the carrier's id of the caller's leg. */
export const callIdOf = (ref: string): CallId => derivedId("call", "voice", ref)

/** Finds a number's holder once the read model has caught up. @throws Unavailable if it does not in time */
export async function findCurrentNumberHolder(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  number: string,
): Promise<{ readonly companyId: CompanyId; readonly numberId: NumberId } | null> {
  let found = await findHolderOfCalledNumber(ports.readAll, number)
  if (found === null) {
    const isCaughtUp = await ports.projector.waitUntilWritten(
      await ports.store.head(),
      READ_MODEL_WAIT_MS,
      ["calls"],
    )
    // A null would reject a call to a number that may just have been bought.
    if (!isCaughtUp) throw new Unavailable("the read model of calls does not catch up")
    found = await findHolderOfCalledNumber(ports.readAll, number)
  }
  return found === null ? null : { companyId: found.company_id, numberId: found.number_id }
}

/** Finds the leg of an event; null if no company holds the called number. */
async function findLeg(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  identity: LegIdentity,
): Promise<(CallReference & { readonly leg: number; readonly ref: string | null }) | null> {
  if (identity.kind === "leg") return identity
  const { ref, to } = identity
  const known = await findStoredCall(ports, ref)
  if (known !== null) return { ...known, leg: 0, ref }
  const holder = await findCurrentNumberHolder(ports, to)
  // The number may have been bought during the call; the read model has caught up, so look again.
  const reference = (await findStoredCall(ports, ref)) ?? holder
  return reference === null
    ? null
    : { companyId: reference.companyId, callId: callIdOf(ref), leg: 0, ref }
}

/** Finds a call's company: its number may since have been bought by another company. */
async function findStoredCall(
  { readAll }: Pick<Ports, "readAll">,
  ref: string,
): Promise<CallReference | null> {
  const callId = callIdOf(ref)
  const row = await findCallRow(readAll, callId)
  return row === null ? null : { companyId: row.company_id, callId }
}

/**
 * Records an event; null if the call is not ours. @throws Unavailable and the writer's errors if it may not be
 * stored
 */
export async function receiveCallEvent(
  ports: Ports,
  event: VoiceEvent,
  cause: Cause,
): Promise<CallReference | null> {
  if (event.type === "call_came") {
    const holder = await findCurrentNumberHolder(ports, event.to)
    // A repeated event of a known call must not ring the number's new holder.
    const known = await findStoredCall(ports, event.ref)
    if (known !== null) return known
    if (holder === null) return countUnknownCall(ports)
    const reference = { companyId: holder.companyId, callId: callIdOf(event.ref) }
    const settings = await readCallSettings(ports, holder.companyId, holder.numberId)
    await offerCall(ports, reference, { ...event, numberId: holder.numberId }, settings, cause)
    return reference
  }
  const found = await findLeg(ports, event.leg)
  if (found === null) return countUnknownCall(ports)
  const { companyId, callId, leg, ref } = found
  const complete = leg === 0 ? await withAnswerTime(ports, event, ref) : event
  await executeCallCommand(
    ports,
    { companyId, callId },
    commandOf(complete, callId, leg, ref),
    cause,
  )
  return { companyId, callId }
}

function countUnknownCall({ counters }: Pick<Ports, "counters">): null {
  counters.increment("calls_to_unknown_numbers", {})
  return null
}

type LegEvent = Exclude<VoiceEvent, { readonly type: "call_came" }>

/**
 * Adds the answer time, from which minutes count, to the end of a caller's leg; asks the carrier if it is
 * missing.
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
