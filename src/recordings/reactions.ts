import { z } from "zod"
import { withProviderTimeout, isProviderError } from "../../adapters/providers/provider-errors.ts"
import { RecordingNotFound } from "../../adapters/providers/voice/port.ts"
import type { CallId, AudioKind } from "../../domain/kernel/calls.ts"
import { parseCallId, AUDIO_KINDS } from "../../domain/kernel/calls.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import { retryWithBackoff } from "../frame/effects/effect-times.ts"
import { reaction } from "../frame/effects/reaction.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import {
  CALL_CARRIER_LABEL,
  NO_ANSWER_MESSAGE,
  storeAudio,
  audioBlobIdOf,
  DAY_MS,
  formatDay,
} from "./store-audio.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { unitPrice } from "../frame/effects/price.ts"
import { chargeOnce } from "../frame/effects/charges.ts"
import { dayStart } from "../../domain/kernel/window.ts"
import { recordingsStreamOf } from "../../domain/recordings/aggregates.ts"
import type { RecordingCommand } from "../../domain/recordings/recordings.ts"
import { nextDayToCount } from "../../domain/recordings/recordings.ts"

/** Enough for four hours of MP3 over a slow line. */
const FETCH_TIMEOUT_MS = 10 * 60_000

export const fetchAudio = reaction({
  kind: "store-recording",
  payload: z.object({
    callId: idSchema(parseCallId),
    kind: z.enum(AUDIO_KINDS),
    seconds: z.int(),
    carrierRef: z.string(),
  }),
  on: {
    RecordingAvailable: ({ at, callId, kind, seconds, carrierRef }) => [
      { name: `${callId}:${kind}`, payload: { callId, kind, seconds, carrierRef }, dueAt: at },
    ],
  },
  isLong: true,
  // Audio that the carrier no longer has is lost anyway.
  discard: "allowed",
  perform: async (ports, work) => {
    const { companyId, name, payload } = work
    const { voice, pacer, runner } = ports
    const offered = await runner.readLatest(
      callStreamOf(companyId, payload.callId),
      ({ call }) => call?.offered ?? null,
    )
    if (offered === null) throw new Error(`${payload.callId} is not a call`)
    const { at: calledAt, callerTag: subject } = offered
    const audio = { companyId, ...payload, calledAt, subject }
    const cause = causedBy(`store-recording ${name}`)
    try {
      await withProviderTimeout(
        pacer,
        CALL_CARRIER_LABEL,
        storeAudio(ports, audio, voice, cause),
        FETCH_TIMEOUT_MS,
      )
      return { result: "done" }
    } catch (error) {
      if (error instanceof RecordingNotFound) {
        ports.log.warn(
          `the carrier no longer has the audio of ${name}, so it cannot be stored`,
          error,
        )
        return { result: "done" }
      }
      if (!isProviderError(error)) throw error
      return retryWithBackoff(work, NO_ANSWER_MESSAGE)
    }
  },
})

/** Deletes audio here and at the carrier. Missing audio counts as deleted. */
export const deleteAudio = reaction({
  kind: "delete-recording",
  payload: z.object({ callId: idSchema(parseCallId), kind: z.enum(AUDIO_KINDS) }),
  on: {
    RecordingDeleted: ({ at, callId, kind }) => [
      { name: `${callId}:${kind}`, payload: { callId, kind }, dueAt: at },
    ],
  },
  discard: "never",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { callId, kind } = payload
    await ports.blobs.delete(companyId, audioBlobIdOf(callId, kind))
    const audioRef = await readCarrierRef(ports, companyId, callId, kind)
    if (audioRef === null) return { result: "done" }
    try {
      await withProviderTimeout(
        ports.pacer,
        CALL_CARRIER_LABEL,
        ports.voice.deleteRecording(audioRef),
      )
      return { result: "done" }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return retryWithBackoff(work, NO_ANSWER_MESSAGE)
    }
  },
})

function readCarrierRef(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  callId: CallId,
  kind: AudioKind,
): Promise<string | null> {
  return runner.readLatest(
    callStreamOf(companyId, callId),
    ({ call }) => call?.audio[kind]?.carrierRef ?? null,
  )
}

/** Charges the stored minutes of a day. If the ledger refuses, that day is free. */
export const chargeStoredMinutes = reaction({
  kind: "charge-stored-minutes",
  // The first millisecond of the UTC day.
  payload: z.object({ day: z.number(), minutes: z.int() }),
  on: {
    StoredMinutesCounted: ({ at, day, minutes }, { companyId }) => {
      if (minutes === 0) return []
      const subject = `${companyId} kept minutes`
      return [
        { name: dayChargeIdOf(companyId, day), subject, payload: { day, minutes }, dueAt: at },
      ]
    },
  },
  discard: "never",
  perform: async (ports, { companyId, payload }) => {
    const { day, minutes: quantity } = payload
    const cause = causedBy(`charge-stored-minutes ${formatDay(day)}`)
    const price = await unitPrice(ports, "recording_minute_day")
    const charge = () => ({
      ...price,
      quantity,
      resource: null,
      exemption: "funds_while_above_zero" as const,
      dueAt: day + DAY_MS,
      servedFrom: day,
    })
    const reference = { chargeId: dayChargeIdOf(companyId, day), searchedTo: null }
    const refused = await chargeOnce(ports, companyId, reference, charge, cause)
    if (refused !== null) ports.storeRefusal(companyId, refused)
    return { result: "done" }
  },
})

const dayChargeIdOf = (companyId: CompanyId, day: number): string =>
  `${companyId}:recordings:${formatDay(day)}`

// The stream records the last counted day, so repeated nightly jobs do nothing and late ones catch up.

/** Audio of the day's last calls arrives some minutes later. */
const NIGHTLY_DELAY_MS = 10 * 60_000
/** Limit of deletions in one append. */
const MAX_PER_APPEND = 500

const nightlyJob = (companyId: CompanyId, day: number) => [
  {
    name: `${companyId}:${formatDay(day)}`,
    subject: `${companyId} recordings`,
    payload: { day },
    dueAt: day + DAY_MS + NIGHTLY_DELAY_MS,
  },
]

/** Runs the nightly work after each day with stored audio, until none is stored. */
export const expireRecordings = reaction({
  kind: "expire-recordings",
  // The first millisecond of the UTC day that has ended.
  payload: z.object({ day: z.number() }),
  on: {
    RecordingStored: ({ at }, { companyId }) => nightlyJob(companyId, dayStart(at)),
    StoredMinutesCounted: ({ day }, { companyId }) => nightlyJob(companyId, day + DAY_MS),
  },
  discard: "never",
  perform: async (ports, { companyId, payload }) => {
    const dayEnd = payload.day + DAY_MS
    // An operator may retry the job early; it must wait for its time.
    if (ports.clock.now() < dayEnd) return { result: "rescheduled", dueAt: dayEnd }
    for (;;) {
      const day = await ports.runner.readLatest(recordingsStreamOf(companyId), nextDayToCount)
      if (day === null || day > payload.day) return { result: "done" }
      const cause = causedBy(`expire-recordings ${formatDay(day)}`)
      await repeatUntilDone(
        ports,
        companyId,
        { type: "DeleteExpiredRecordings", day, maxCount: MAX_PER_APPEND },
        cause,
      )
      await repeatUntilDone(ports, companyId, { type: "CountStoredMinutes", day }, cause)
    }
  },
})

/** Erases the recordings of an erased company. */
export const eraseRecordings = reaction({
  kind: "erase-recordings",
  payload: z.object({}),
  on: {
    CompanyErased: ({ companyId, at }) => [{ name: companyId, companyId, payload: {}, dueAt: at }],
  },
  discard: "never",
  perform: async (ports, { companyId }) => {
    const cause = causedBy(`erase-recordings ${companyId}`)
    await repeatUntilDone(
      ports,
      companyId,
      { type: "EraseRecordings", maxCount: MAX_PER_APPEND },
      cause,
    )
    return { result: "done" }
  },
})

/** Repeats a command until it records nothing. */
async function repeatUntilDone(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  command: RecordingCommand,
  cause: Cause,
): Promise<void> {
  for (;;) {
    const done = await runner.execute(recordingsStreamOf(companyId), command, cause)
    if (!done.accepted) throw new Error(`${command.type} was rejected: ${done.refusal.code}`)
    if (done.facts.length === 0) return
  }
}
