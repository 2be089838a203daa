/**
 * The night: what is kept for long enough is deleted, and the minutes of the day that is over are counted.
 * Both are decided by the stream of recordings, whose facts say which day was counted last: so a row that
 * comes again does nothing, and one that comes days late does all days before it, in their order.
 */
import { z } from "zod"
import { dayStart } from "../../../domain/kernel/window.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { recordingsOf } from "../../../domain/recordings/aggregates.ts"
import type { RecordingCommand } from "../../../domain/recordings/recordings.ts"
import { nextDay } from "../../../domain/recordings/recordings.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { DAY_MS, dayText } from "../of-call.ts"

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
