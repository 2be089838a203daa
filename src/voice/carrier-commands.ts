/** What the carrier is told: a call's directions, with the numbers and words that stand in no row. */
import type { VoiceCommand, VoiceLeg } from "../../adapters/providers/voice/port.ts"
import type { OfferedCall } from "../../domain/voice/call-state.ts"
import { isLegActive, findLeg } from "../../domain/voice/call-state.ts"
import {
  PROMPT_TIMEOUT_MS,
  MAX_TALK_MS,
  MAX_VOICEMAIL_MS,
} from "../../domain/voice/call-commands.ts"
import type { CallInstruction, SpokenPrompt } from "../../domain/voice/call-instructions.ts"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { isDestinationEnabled } from "../../domain/phone/phone-views.ts"
import { findHolderOfCalledNumber } from "../../projections/voice/called-numbers.ts"
import { parseForwardingNumber } from "../frame/kernel/schema.ts"
import { DEFAULT_RECORDING_NOTICE } from "../../domain/phone/number-settings.ts"

const GREETING = "Nobody can take your call right now. Please leave a message after the tone."

const NO_NUMBER_SPOKEN = "a caller who shows no number"

/** A number as it is read out: digit by digit. */
const spokenDigits = (number: string): string => [...number.replaceAll(/\D/g, "")].join(" ")

type VoiceCommandPorts = Pick<Ports, "readAll" | "runner" | "sealing">

/** A leg of a call, as the carrier is told of it. */
export function voiceLeg(companyId: CompanyId, call: OfferedCall, leg: number): VoiceLeg {
  const { callId, carrierRef } = call.offered
  const ref = leg === 0 ? carrierRef : (findLeg(call, leg)?.ref ?? null)
  return { companyId, callId, leg, ref }
}

/** Whether a direction still fits: the call may have gone on while the carrier did not answer. */
export function isDirectionCurrent(
  call: OfferedCall,
  direction: CallInstruction,
  now: number,
): boolean {
  const { phase, goneAt, isSaying } = call
  const leg = findLeg(call, direction.leg)
  switch (direction.word) {
    case "dial": {
      const isInTime = call.deadline?.of === "ring" && now < call.deadline.untilAt
      return phase === "ringing" && isInTime && leg !== undefined && isLegActive(leg)
    }
    case "ask":
      return phase === "ringing" && leg !== undefined && isLegActive(leg)
    case "answer":
      return goneAt === null && (phase === "accepted" || phase === "greeting")
    case "say":
      return isSaying && phase === (direction.says === "greeting" ? "greeting" : "accepted")
    case "join":
      return phase === "talking"
    case "record":
      return phase === (direction.kind === "call" ? "talking" : "voicemail")
    case "reject":
      return goneAt === null
    case "hang_up":
      return direction.leg === 0 ? goneAt === null : leg?.goneAt === null
  }
}

/** The command of a direction; null where nobody may be called there. */
export async function voiceCommandFor(
  ports: VoiceCommandPorts,
  companyId: CompanyId,
  call: OfferedCall,
  direction: CallInstruction,
): Promise<VoiceCommand | null> {
  const { word } = direction
  const leg = voiceLeg(companyId, call, direction.leg)
  switch (word) {
    case "answer":
    case "reject":
    case "hang_up":
      return { word, leg }
    case "dial":
      return dialCommandFor(ports, companyId, call, leg)
    case "ask": {
      const text = await spokenTextFor(ports, companyId, call, direction.says)
      return { word, leg, text, waitSeconds: PROMPT_TIMEOUT_MS / 1_000 }
    }
    case "say":
      return { word, leg, text: await spokenTextFor(ports, companyId, call, direction.says) }
    case "join":
      return { word, leg, other: voiceLeg(companyId, call, direction.other) }
    case "record": {
      const mostMs = direction.kind === "call" ? MAX_TALK_MS : MAX_VOICEMAIL_MS
      return { word, leg, kind: direction.kind, mostSeconds: mostMs / 1_000 }
    }
  }
}

/** Who is called sees the company's number and never the caller's: no number of others' leaves us. */
async function dialCommandFor(
  ports: VoiceCommandPorts,
  companyId: CompanyId,
  call: OfferedCall,
  leg: VoiceLeg,
): Promise<VoiceCommand | null> {
  const { settings, to: own } = call.offered
  const target = settings.ringTo[leg.leg - 1]
  if (target === undefined) return null
  const to = await numberToRing(ports, companyId, target.phone)
  const from = await ports.sealing.unseal(companyId, own)
  if (to === null || from === null) return null
  const caller = voiceLeg(companyId, call, 0)
  return { word: "dial", leg, caller, from, to, ringSeconds: settings.ringSeconds }
}

/**
 * The number to ring, E.164; null where nobody may be called there: it is none, costs whoever calls it, its
 * country is off, or it is a number of this installation, which could forward the call back for ever.
 */
async function numberToRing(
  { readAll, runner, sealing }: VoiceCommandPorts,
  companyId: CompanyId,
  phone: SealedText,
): Promise<string | null> {
  const found = parseForwardingNumber((await sealing.unseal(companyId, phone)) ?? "")
  if (found === null) return null
  const { number, country } = found
  const isOn = await runner.read(phoneStreamOf(companyId), (state) =>
    isDestinationEnabled(state, country),
  )
  if (!isOn || (await findHolderOfCalledNumber(readAll, number)) !== null) return null
  return number
}

/** What a call says: the number's own words, or the usual ones where it has none or they were erased. */
async function spokenTextFor(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { offered: { settings, from } }: OfferedCall,
  says: SpokenPrompt,
): Promise<string> {
  const opened = async (sealed: SealedText | null, usual: string) =>
    (sealed === null ? null : await sealing.unseal(companyId, sealed)) ?? usual
  switch (says) {
    case "notice":
      return opened(settings.recordingNotice, DEFAULT_RECORDING_NOTICE)
    case "greeting":
      return opened(settings.voicemailGreeting, GREETING)
    case "screening": {
      const caller = await opened(from, "")
      const who = caller === "" ? NO_NUMBER_SPOKEN : spokenDigits(caller)
      return `You have a call from ${who}. Press 1 to take it.`
    }
  }
}
