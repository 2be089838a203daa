/** What the carrier is told: a call's directions, with the numbers and words that stand in no row. */
import type { VoiceCommand, VoiceLeg } from "../../adapters/providers/voice/port.ts"
import type { Live } from "../../domain/voice/call-state.ts"
import { isAlive, legOf } from "../../domain/voice/call-state.ts"
import { ASK_MS, TALK_MS, VOICEMAIL_MS } from "../../domain/voice/call-commands.ts"
import type { Direction, Said } from "../../domain/voice/directions.ts"
import type { CompanyId, Sealed } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { isDestinationOn } from "../../domain/phone/phone-views.ts"
import { holderOfCalled } from "../../projections/voice/called-numbers.ts"
import { callable } from "../frame/kernel/schema.ts"
import { USUAL_RECORDING_NOTICE } from "../../domain/phone/number-settings.ts"

const GREETING = "Nobody can take your call right now. Please leave a message after the tone."

const NO_NUMBER = "a caller who shows no number"

/** A number as it is read out: digit by digit. */
const spoken = (number: string): string => [...number.replaceAll(/\D/g, "")].join(" ")

type Needs = Pick<Ports, "readAll" | "runner" | "sealing">

/** A leg of a call, as the carrier is told of it. */
export function voiceLeg(companyId: CompanyId, call: Live, leg: number): VoiceLeg {
  const { callId, carrierRef } = call.offered
  const ref = leg === 0 ? carrierRef : (legOf(call, leg)?.ref ?? null)
  return { companyId, callId, leg, ref }
}

/** Whether a direction still fits: the call may have gone on while the carrier did not answer. */
export function isMeant(call: Live, direction: Direction, now: number): boolean {
  const { phase, goneAt, isSaying } = call
  const leg = legOf(call, direction.leg)
  switch (direction.word) {
    case "dial": {
      const isInTime = call.deadline?.of === "ring" && now < call.deadline.untilAt
      return phase === "ringing" && isInTime && leg !== undefined && isAlive(leg)
    }
    case "ask":
      return phase === "ringing" && leg !== undefined && isAlive(leg)
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
export async function commandFor(
  ports: Needs,
  companyId: CompanyId,
  call: Live,
  direction: Direction,
): Promise<VoiceCommand | null> {
  const { word } = direction
  const leg = voiceLeg(companyId, call, direction.leg)
  switch (word) {
    case "answer":
    case "reject":
    case "hang_up":
      return { word, leg }
    case "dial":
      return dialOf(ports, companyId, call, leg)
    case "ask": {
      const text = await wordsOf(ports, companyId, call, direction.says)
      return { word, leg, text, waitSeconds: ASK_MS / 1_000 }
    }
    case "say":
      return { word, leg, text: await wordsOf(ports, companyId, call, direction.says) }
    case "join":
      return { word, leg, other: voiceLeg(companyId, call, direction.other) }
    case "record": {
      const mostMs = direction.kind === "call" ? TALK_MS : VOICEMAIL_MS
      return { word, leg, kind: direction.kind, mostSeconds: mostMs / 1_000 }
    }
  }
}

/** Who is called sees the company's number and never the caller's: no number of others' leaves us. */
async function dialOf(
  ports: Needs,
  companyId: CompanyId,
  call: Live,
  leg: VoiceLeg,
): Promise<VoiceCommand | null> {
  const { settings, to: own } = call.offered
  const target = settings.ringTo[leg.leg - 1]
  if (target === undefined) return null
  const to = await numberToRing(ports, companyId, target.phone)
  const from = await ports.sealing.open(companyId, own)
  if (to === null || from === null) return null
  const caller = voiceLeg(companyId, call, 0)
  return { word: "dial", leg, caller, from, to, ringSeconds: settings.ringSeconds }
}

/**
 * The number to ring, E.164; null where nobody may be called there: it is none, costs whoever calls it, its
 * country is off, or it is a number of this installation, which could forward the call back for ever.
 */
async function numberToRing(
  { readAll, runner, sealing }: Needs,
  companyId: CompanyId,
  phone: Sealed,
): Promise<string | null> {
  const found = callable((await sealing.open(companyId, phone)) ?? "")
  if (found === null) return null
  const { number, country } = found
  const isOn = await runner.read(phoneOf(companyId), (state) => isDestinationOn(state, country))
  if (!isOn || (await holderOfCalled(readAll, number)) !== null) return null
  return number
}

/** What a call says: the number's own words, or the usual ones where it has none or they were erased. */
async function wordsOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { offered: { settings, from } }: Live,
  says: Said,
): Promise<string> {
  const opened = async (sealed: Sealed | null, usual: string) =>
    (sealed === null ? null : await sealing.open(companyId, sealed)) ?? usual
  switch (says) {
    case "notice":
      return opened(settings.recordingNotice, USUAL_RECORDING_NOTICE)
    case "greeting":
      return opened(settings.voicemailGreeting, GREETING)
    case "screening": {
      const caller = await opened(from, "")
      const who = caller === "" ? NO_NUMBER : spoken(caller)
      return `You have a call from ${who}. Press 1 to take it.`
    }
  }
}
