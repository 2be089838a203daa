/** Builds the carrier's commands, with the unsealed numbers and texts that no job may store. */
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

const GREETING = "No one can take your call right now. Please leave a message after the tone."

const NO_NUMBER_SPOKEN = "a caller who shows no number"

const spokenDigits = (number: string): string => [...number.replaceAll(/\D/g, "")].join(" ")

type VoiceCommandPorts = Pick<Ports, "readAll" | "runner" | "sealing">

/** The carrier's reference to a leg of a call. */
export function voiceLeg(companyId: CompanyId, call: OfferedCall, leg: number): VoiceLeg {
  const { callId, carrierRef } = call.offered
  const ref = leg === 0 ? carrierRef : (findLeg(call, leg)?.ref ?? null)
  return { companyId, callId, leg, ref }
}

/** Whether an instruction still applies: the call may have changed while the carrier did not answer. */
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

/** The command for an instruction; null if the phone must not be called. */
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
      const maxMs = direction.kind === "call" ? MAX_TALK_MS : MAX_VOICEMAIL_MS
      return { word, leg, kind: direction.kind, mostSeconds: maxMs / 1_000 }
    }
  }
}

/** The called person sees the company's number, never the caller's: we never send a number of a third party. */
async function dialCommandFor(
  ports: VoiceCommandPorts,
  companyId: CompanyId,
  call: OfferedCall,
  leg: VoiceLeg,
): Promise<VoiceCommand | null> {
  const { settings, to: ownNumber } = call.offered
  const target = settings.ringTo[leg.leg - 1]
  if (target === undefined) return null
  const to = await numberToRing(ports, companyId, target.phone)
  const from = await ports.sealing.unseal(companyId, ownNumber)
  if (to === null || from === null) return null
  const caller = voiceLeg(companyId, call, 0)
  return { word: "dial", leg, caller, from, to, ringSeconds: settings.ringSeconds }
}

/**
 * The number to ring; null if it is invalid, costly, disabled, or ours, which could forward the call back
 * forever.
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

/** The text of a prompt: the number's own, or the default if none is set or it was erased. */
async function spokenTextFor(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { offered: { settings, from } }: OfferedCall,
  says: SpokenPrompt,
): Promise<string> {
  const unsealOrDefault = async (sealed: SealedText | null, usual: string) =>
    (sealed === null ? null : await sealing.unseal(companyId, sealed)) ?? usual
  switch (says) {
    case "notice":
      return unsealOrDefault(settings.recordingNotice, DEFAULT_RECORDING_NOTICE)
    case "greeting":
      return unsealOrDefault(settings.voicemailGreeting, GREETING)
    case "screening": {
      const caller = await unsealOrDefault(from, "")
      const who = caller === "" ? NO_NUMBER_SPOKEN : spokenDigits(caller)
      return `You have a call from ${who}. Press 1 to take it.`
    }
  }
}
