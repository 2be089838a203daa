/** What follows from a recording that the carrier has: it is brought here, and forgotten there. */
import { z } from "zod"
import { inTime, isOutside } from "../../adapters/providers/outside.ts"
import { AudioGone } from "../../adapters/providers/voice/port.ts"
import type { CallId, AudioKind } from "../../domain/recordings/recording-events.ts"
import { parseCallId, AUDIO_KINDS } from "../../domain/recordings/recording-events.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import { retryLater } from "../frame/effects/ask-again.ts"
import { reaction } from "../frame/effects/reaction.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import { CARRIER, SILENT, keepAudio, blobOf, DAY_MS, dayText } from "./keep-audio.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { priceOfOne } from "../frame/effects/price.ts"
import { chargeByName } from "../frame/effects/charges.ts"
import { dayStart } from "../../domain/kernel/window.ts"
import { recordingsOf } from "../../domain/recordings/aggregates.ts"
import type { RecordingCommand } from "../../domain/recordings/recordings.ts"
import { nextDay } from "../../domain/recordings/recordings.ts"

/** Four hours of MP3 over a slow line. */
const FETCHED_WITHIN_MS = 10 * 60_000

/** Keeps it. */
export const fetchAudio = reaction({
  kind: "store-recording",
  payload: z.object({
    callId: idSchema(parseCallId),
    kind: z.enum(AUDIO_KINDS),
    seconds: z.int(),
    carrierRef: z.string(),
  }),
  from: {
    RecordingAvailable: ({ at, callId, kind, seconds, carrierRef }) => [
      { name: `${callId}:${kind}`, payload: { callId, kind, seconds, carrierRef }, dueAt: at },
    ],
  },
  isLong: true,
  // What the carrier no longer has is lost already.
  giveUp: "nothing is lost",
  perform: async (ports, work) => {
    const { companyId, name, payload } = work
    const { voice, pacer, runner } = ports
    const offered = await runner.readLatest(
      callStreamOf(companyId, payload.callId),
      ({ call }) => call?.offered ?? null,
    )
    if (offered === null) throw new Error(`${payload.callId} is no call`)
    const { at: calledAt, callerTag: subject } = offered
    const saved = { companyId, ...payload, calledAt, subject }
    const cause = causedBy(`store-recording ${name}`)
    try {
      await inTime(pacer, CARRIER, keepAudio(ports, saved, voice, cause), FETCHED_WITHIN_MS)
      return { result: "done" }
    } catch (error) {
      if (error instanceof AudioGone) {
        ports.log.warn(`the carrier lost the audio of ${name}, which nobody can hear now`, error)
        return { result: "done" }
      }
      if (!isOutside(error)) throw error
      return retryLater(work, SILENT)
    }
  },
})

/** Deletes both. What is not there: nothing. */
export const deleteAudio = reaction({
  kind: "delete-recording",
  payload: z.object({ callId: idSchema(parseCallId), kind: z.enum(AUDIO_KINDS) }),
  from: {
    RecordingDeleted: ({ at, callId, kind }) => [
      { name: `${callId}:${kind}`, payload: { callId, kind }, dueAt: at },
    ],
  },
  giveUp: "owed",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { callId, kind } = payload
    await ports.blobs.delete(companyId, blobOf(callId, kind))
    const audioRef = await refOf(ports, companyId, callId, kind)
    if (audioRef === null) return { result: "done" }
    try {
      await inTime(ports.pacer, CARRIER, ports.voice.forgetAudio(audioRef))
      return { result: "done" }
    } catch (error) {
      if (!isOutside(error)) throw error
      return retryLater(work, SILENT)
    }
  },
})

/** What the carrier calls it; null where it never had any. */
function refOf(
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

/** Charges a day. Where the ledger refuses it, that day costs nothing. */
export const chargeKeptMinutes = reaction({
  kind: "charge-stored-minutes",
  // The first millisecond of the day in UTC.
  payload: z.object({ day: z.number(), minutes: z.int() }),
  from: {
    StoredMinutesCounted: ({ at, day, minutes }, { companyId }) => {
      if (minutes === 0) return []
      const subject = `${companyId} kept minutes`
      return [{ name: nameOf(companyId, day), subject, payload: { day, minutes }, dueAt: at }]
    },
  },
  giveUp: "owed",
  perform: async (ports, { companyId, payload }) => {
    const { day, minutes: quantity } = payload
    const cause = causedBy(`charge-stored-minutes ${dayText(day)}`)
    const price = await priceOfOne(ports, "recording_minute_day")
    const charge = () => ({
      ...price,
      quantity,
      resource: null,
      exemption: "funds_while_above_zero" as const,
      dueAt: day + DAY_MS,
      servedFrom: day,
    })
    const named = { chargeId: nameOf(companyId, day), knownTo: null }
    const refused = await chargeByName(ports, companyId, named, charge, cause)
    if (refused !== null) ports.keepRefusal(companyId, refused)
    return { result: "done" }
  },
})

/** What the charge of a day is called. */
const nameOf = (companyId: CompanyId, day: number): string =>
  `${companyId}:recordings:${dayText(day)}`

// The night: what is kept for long enough is deleted, and the minutes of the day that is over are counted.
// Both are decided by the stream of recordings, whose facts say which day was counted last: so a row that
// comes again does nothing, and one that comes days late does all days before it, in their order.

/** Audio of a day's last calls comes some minutes after it. */
const NIGHT_AFTER_MS = 10 * 60_000
/** More are not deleted in one append. */
const MOST_AT_ONCE = 500

/** The row of the night behind a day. */
const nightAfter = (companyId: CompanyId, day: number) => [
  {
    name: `${companyId}:${dayText(day)}`,
    subject: `${companyId} recordings`,
    payload: { day },
    dueAt: day + DAY_MS + NIGHT_AFTER_MS,
  },
]

/** The nights of a company: one behind each day on which something was kept, until nothing is held. */
export const keepRecordings = reaction({
  kind: "expire-recordings",
  // The first millisecond of the UTC day that is over when it is due.
  payload: z.object({ day: z.number() }),
  from: {
    RecordingStored: ({ at }, { companyId }) => nightAfter(companyId, dayStart(at)),
    StoredMinutesCounted: ({ day }, { companyId }) => nightAfter(companyId, day + DAY_MS),
  },
  giveUp: "owed",
  perform: async (ports, { companyId, payload }) => {
    const over = payload.day + DAY_MS
    // An operator may have called it early; it must not be done and gone before its time.
    if (ports.clock.now() < over) return { result: "later", dueAt: over }
    for (;;) {
      const day = await ports.runner.readLatest(recordingsOf(companyId), nextDay)
      if (day === null || day > payload.day) return { result: "done" }
      const cause = causedBy(`expire-recordings ${dayText(day)}`)
      await untilNothing(ports, companyId, { type: "DeleteOld", day, most: MOST_AT_ONCE }, cause)
      await untilNothing(ports, companyId, { type: "CountKeptMinutes", day }, cause)
    }
  },
})

/** Erases what there is of a company that is erased: its blobs are gone, and no night comes any more. */
export const eraseRecordings = reaction({
  kind: "erase-recordings",
  payload: z.object({}),
  from: {
    CompanyErased: ({ companyId, at }) => [{ name: companyId, companyId, payload: {}, dueAt: at }],
  },
  giveUp: "owed",
  perform: async (ports, { companyId }) => {
    const cause = causedBy(`erase-recordings ${companyId}`)
    await untilNothing(ports, companyId, { type: "EraseAudio", most: MOST_AT_ONCE }, cause)
    return { result: "done" }
  },
})

/** Asks the same until it records nothing any more. */
async function untilNothing(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  command: RecordingCommand,
  cause: Cause,
): Promise<void> {
  for (;;) {
    const done = await runner.execute(recordingsOf(companyId), command, cause)
    if (!done.accepted) throw new Error(`${command.type} was refused: ${done.refusal.code}`)
    if (done.facts.length === 0) return
  }
}
