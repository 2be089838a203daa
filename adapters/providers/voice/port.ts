/**
 * The carrier of calls: it tells of those that come, and does eight things to a leg, one phone's side of a
 * call. Legs are named by us (the call and a number, the caller's is 0) and by the carrier (a reference
 * that only its adapter reads). What it says of a leg may come late, twice, in another order, or before the
 * answer to the command that made the leg.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { AudioKind } from "../../../domain/voice/call-events.ts"
import type { CallId } from "../../../domain/voice/ids.ts"
import type { CarrierLegState } from "../../../domain/voice/call-commands.ts"

/** A leg of a call. An adapter can find both by this alone, where it sends it along and gets it back. */
export interface VoiceLeg {
  /** Whose call it is. */
  readonly companyId: CompanyId
  readonly callId: CallId
  /** 0 is the caller's. */
  readonly leg: number
  /** What the carrier calls it; null where it has not said so yet. */
  readonly ref: string | null
}

/** What a carrier can be told to do. */
export type VoiceCommand =
  /** Opens the caller's leg: from here the caller pays their own carrier. */
  | { readonly word: "answer"; readonly leg: VoiceLeg }
  /** Turns the caller away unanswered. */
  | { readonly word: "reject"; readonly leg: VoiceLeg }
  | { readonly word: "hang_up"; readonly leg: VoiceLeg }
  | {
      readonly word: "dial"
      readonly leg: VoiceLeg
      /** The caller's leg, which it belongs to. */
      readonly caller: VoiceLeg
      /** The company's number, E.164. */
      readonly from: string
      readonly to: string
      /** The carrier gives up ringing by then, if nobody tells it before. */
      readonly ringSeconds: number
    }
  /** Says something and waits for one key. */
  | {
      readonly word: "ask"
      readonly leg: VoiceLeg
      readonly text: string
      readonly waitSeconds: number
    }
  | { readonly word: "say"; readonly leg: VoiceLeg; readonly text: string }
  | { readonly word: "join"; readonly leg: VoiceLeg; readonly other: VoiceLeg }
  /** Records what is heard on a leg; of a call both sides, of a voicemail behind a beep. */
  | {
      readonly word: "record"
      readonly leg: VoiceLeg
      readonly kind: AudioKind
      readonly mostSeconds: number
    }

/** What became of a command; the leg's reference where the carrier says it by this. */
export type VoiceAnswer =
  { readonly outcome: "done"; readonly ref: string | null } | { readonly outcome: "gone" }

/**
 * Which leg something is said of: one that we had called, by our own names, or the caller's, by the
 * carrier's name for it and the number that was called.
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

/** What a carrier says by itself. Times are its own, UTC milliseconds. */
export type VoiceEvent =
  | {
      readonly type: "call_came"
      readonly ref: string
      /** As it was shown: a number, or whatever a caller may have shown. */
      readonly from: string
      /** E.164. */
      readonly to: string
      readonly startedAt: number
      /** STIR/SHAKEN; null where the carrier does not say. */
      readonly attestation: "A" | "B" | "C" | null
    }
  /** What the carrier calls a leg that we had called: where its answer is late or lost, this says it. */
  | { readonly type: "leg_placed"; readonly leg: LegIdentity; readonly ref: string }
  | { readonly type: "leg_open"; readonly leg: LegIdentity; readonly answeredAt: number }
  | { readonly type: "digits"; readonly leg: LegIdentity; readonly digits: string }
  /** Nobody pressed a key. */
  | { readonly type: "ask_over"; readonly leg: LegIdentity }
  /** Something was said to the end. */
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

/** The carrier has no such recording, or no longer. */
export class RecordingNotFound extends Error {
  override readonly name = "RecordingNotFound"
}

/** A carrier of calls. */
export interface VoiceCarrier {
  /**
   * Does something to a leg. The same command id again within a minute is the same command. `gone`: there is
   * no such leg any more.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly execute: (command: VoiceCommand, commandId: string) => Promise<VoiceAnswer>
  /** What the carrier knows of a leg, by its own name for it. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkLegStatus: (ref: string) => Promise<CarrierLegState>
  /** A recording, as MP3. @throws ProviderUnavailable, ProviderOutcomeUnknown, RecordingNotFound */
  readonly downloadRecording: (ref: string) => Promise<AsyncIterable<Uint8Array>>
  /** Deletes a recording at the carrier; one that is gone stays so. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly deleteRecording: (ref: string) => Promise<void>
}

/** What is called back over HTTP, as it came. */
export interface VoiceWebhookRequest {
  /** The first value of a header field; null where it was not sent. */
  readonly header: (name: string) => string | null
  /** The bytes, before anybody read them. */
  readonly raw: Uint8Array
}

/** A carrier that says what it says over HTTP. */
export interface VoiceWebhooks {
  /** What was called back and when it was signed, UTC milliseconds; null where the carrier did not sign it. */
  readonly readWebhook: (
    sent: VoiceWebhookRequest,
    now: number,
  ) => {
    readonly signedAt: number
    /** Each with the carrier's own id of it. */
    readonly events: readonly { readonly id: string; readonly event: VoiceEvent }[]
  } | null
  /** Turns a call away that came for nobody here. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly rejectCall: (ref: string) => Promise<void>
}
