/**
 * The voice carrier reports incoming calls and executes eight commands on legs; a leg is one
 * phone's side of a call. We name a leg by its call and a number (0 is the caller's), the carrier
 * by a reference that only its adapter reads. The carrier's events may be late, duplicated or out
 * of order, or precede the answer to the command that created the leg.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { AudioKind } from "../../../domain/kernel/calls.ts"
import type { CallId } from "../../../domain/kernel/calls.ts"
import type { CarrierLegState } from "../../../domain/voice/call-commands.ts"

/**
 * A leg of a call. An adapter can identify it by this alone if the carrier returns it with events.
 */
export interface VoiceLeg {
  /** The company that the call belongs to. */
  readonly companyId: CompanyId
  readonly callId: CallId
  /** 0 is the caller's leg. */
  readonly leg: number
  /** The carrier's reference of the leg; null while it is unknown. */
  readonly ref: string | null
}

export type VoiceCommand =
  /** Answers the caller's leg; from here the caller pays their own carrier. */
  | { readonly word: "answer"; readonly leg: VoiceLeg }
  /** Rejects the call without answering it. */
  | { readonly word: "reject"; readonly leg: VoiceLeg }
  | { readonly word: "hang_up"; readonly leg: VoiceLeg }
  | {
      readonly word: "dial"
      readonly leg: VoiceLeg
      /** The caller's leg that the new leg belongs to. */
      readonly caller: VoiceLeg
      /** The company's number, E.164. */
      readonly from: string
      readonly to: string
      /** The carrier stops ringing after this time unless a command does so earlier. */
      readonly ringSeconds: number
    }
  /** Speaks a text and waits for one key. */
  | {
      readonly word: "ask"
      readonly leg: VoiceLeg
      readonly text: string
      readonly waitSeconds: number
    }
  | { readonly word: "say"; readonly leg: VoiceLeg; readonly text: string }
  | { readonly word: "join"; readonly leg: VoiceLeg; readonly other: VoiceLeg }
  /** Records a leg: both sides of a call, or a voicemail after a beep. */
  | {
      readonly word: "record"
      readonly leg: VoiceLeg
      readonly kind: AudioKind
      readonly mostSeconds: number
    }

/**
 * The result of a command; `ref` if this answer names the leg's reference. `gone`: the leg has
 * ended.
 */
export type VoiceAnswer =
  { readonly outcome: "done"; readonly ref: string | null } | { readonly outcome: "gone" }

/**
 * Identifies the leg of an event: a leg that we dialed by our own ids, the caller's leg by the
 * carrier's reference and the dialed number.
 */
export type LegIdentity =
  | {
      readonly kind: "leg"
      readonly companyId: CompanyId
      readonly callId: CallId
      readonly leg: number
      readonly ref: string | null
    }
  | { readonly kind: "caller"; readonly ref: string; readonly to: string }

/** An event of the carrier. Times are the carrier's, UTC milliseconds. */
export type VoiceEvent =
  | {
      readonly type: "call_came"
      readonly ref: string
      /** The shown caller id: a number, or any text that a caller may send. */
      readonly from: string
      /** E.164. */
      readonly to: string
      readonly startedAt: number
      /** STIR/SHAKEN attestation; null if the carrier does not report it. */
      readonly attestation: "A" | "B" | "C" | null
    }
  /** The carrier's reference of a leg that we dialed, in case the answer is late or lost. */
  | { readonly type: "leg_placed"; readonly leg: LegIdentity; readonly ref: string }
  | { readonly type: "leg_open"; readonly leg: LegIdentity; readonly answeredAt: number }
  | { readonly type: "digits"; readonly leg: LegIdentity; readonly digits: string }
  /** The wait for a key timed out. */
  | { readonly type: "ask_over"; readonly leg: LegIdentity }
  /** A spoken text ended. */
  | { readonly type: "said"; readonly leg: LegIdentity }
  | {
      readonly type: "leg_gone"
      readonly leg: LegIdentity
      readonly goneAt: number
      readonly answeredAt: number | null
    }
  | {
      readonly type: "audio_ready"
      readonly leg: LegIdentity
      readonly kind: AudioKind
      readonly seconds: number
      readonly carrierRef: string
    }

/** The carrier has no such recording, or has deleted it. */
export class RecordingNotFound extends Error {
  override readonly name = "RecordingNotFound"
}

export interface VoiceCarrier {
  /**
   * Executes a command on a leg; the same command id within a minute is the same command. `gone`:
   * the leg has ended.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly execute: (command: VoiceCommand, commandId: string) => Promise<VoiceAnswer>
  /**
   * The carrier's state of a leg, by its reference. @throws ProviderUnavailable,
   * ProviderOutcomeUnknown
   */
  readonly checkLegStatus: (ref: string) => Promise<CarrierLegState>
  /**
   * Downloads a recording as MP3. @throws ProviderUnavailable, ProviderOutcomeUnknown,
   * RecordingNotFound
   */
  readonly downloadRecording: (ref: string) => Promise<AsyncIterable<Uint8Array>>
  /**
   * Deletes a recording at the carrier; idempotent. @throws ProviderUnavailable,
   * ProviderOutcomeUnknown
   */
  readonly deleteRecording: (ref: string) => Promise<void>
}

export interface VoiceWebhookRequest {
  /** The first value of a header field; null if it is missing. */
  readonly header: (name: string) => string | null
  /** The unparsed bytes. */
  readonly raw: Uint8Array
}

/** A carrier that reports events by webhooks. */
export interface VoiceWebhooks {
  /**
   * The events of a webhook and its signing time, UTC milliseconds; null if the signature is
   * invalid.
   */
  readonly readWebhook: (
    sent: VoiceWebhookRequest,
    now: number,
  ) => {
    readonly signedAt: number
    /** Each with the carrier's event id. */
    readonly events: readonly { readonly id: string; readonly event: VoiceEvent }[]
  } | null
  /**
   * Rejects a call to a number that is not ours. @throws ProviderUnavailable,
   * ProviderOutcomeUnknown
   */
  readonly rejectCall: (ref: string) => Promise<void>
}
