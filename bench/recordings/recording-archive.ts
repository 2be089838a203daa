/** A company's recordings, with the nightly deletion. */
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recordingsStreamOf } from "../../domain/recordings/aggregates.ts"
import type { RetentionDays } from "../../domain/recordings/recording-events.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import { nextDayToCount } from "../../domain/recordings/recordings.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import { storeAudio } from "../../src/recordings/store-audio.ts"
import { offerCallCommand, ringingSettings } from "../../test/voice/call-commands.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"

const DAY_MS = 86_400_000
/** When the job of a night is due. */
const NIGHT_MS = 10 * 60_000
/** Number of concurrent writers. */
const AT_ONCE = 32
const CAUSE = causedBy("bench recordings")
/** A short sample: the night does not read it. */
const SAMPLE_AUDIO = [Buffer.alloc(3_000, 1)]
/** Young enough to be stored now, and old enough to be deleted two nights later. */
const AGE_MS = 29.5 * DAY_MS

export interface RecordingArchive {
  /** Stores a recording without a retention period. */
  readonly add: (seconds: number, bytes: Iterable<Uint8Array>) => Promise<CallId>
  /** Stores so many recordings that expire soon. */
  readonly fill: (count: number) => Promise<void>
  readonly setRetention: (days: RetentionDays) => Promise<void>
  /** Ends the day; resolves when the night's job is done, to the last blob. */
  readonly runNight: () => Promise<void>
  /** @throws InvalidMeasurement if more than the one permanent recording is left, or it was not counted */
  readonly checkEmpty: () => Promise<void>
}

/** Opens an archive in an installation whose clock can be set. */
export function openRecordingArchive(
  { ports, pool, waitUntilIdle }: BenchInstallation,
  companyId: CompanyId,
): RecordingArchive {
  const { runner } = ports
  const stream = recordingsStreamOf(companyId)
  const setClock = async (at: number) => {
    assertMeasurement(ports.setClock !== null, "the clock cannot be set")
    await ports.setClock(at)
  }
  const keepOne = async (seconds: number, bytes: Iterable<Uint8Array>, calledAt: number) => {
    const callId = newId("call")
    const seal = (text: string) => ports.sealing.seal(companyId, COMPANY_SUBJECT, text)
    const callerTag = await ports.sealing.tag(companyId, callId)
    const numbers = { from: await seal("+14155550123"), to: await seal("+12015550100") }
    const came = { callId, callerTag, ...numbers, rejectReason: "closed" as const }
    await runner.execute(
      callStreamOf(companyId, callId),
      offerCallCommand(ringingSettings(0), came),
      CAUSE,
    )
    const saved = {
      companyId,
      callId,
      kind: "call" as const,
      seconds,
      carrierRef: callId,
      calledAt,
    }
    const source = {
      downloadRecording: async () => piecesOf(bytes),
      deleteRecording: async () => undefined,
    }
    await storeAudio(ports, { ...saved, subject: COMPANY_SUBJECT }, source, CAUSE)
    return callId
  }
  return {
    add: (seconds, bytes) => keepOne(seconds, bytes, ports.clock.now() + 10_000 * DAY_MS),
    fill: async (count) => {
      const left = { count }
      const work = async () => {
        for (; left.count > 0;) {
          left.count -= 1
          await keepOne(61, SAMPLE_AUDIO, ports.clock.now() - AGE_MS)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
    },
    setRetention: async (days) => {
      await runner.execute(stream, { type: "SetRetention", days }, CAUSE)
    },
    runNight: async () => {
      const today = Math.floor(ports.clock.now() / DAY_MS) * DAY_MS
      await setClock(today + DAY_MS + NIGHT_MS)
      await waitUntilIdle()
      const next = await runner.readLatest(stream, nextDayToCount)
      assertMeasurement(next === today + DAY_MS, "the day was not counted")
    },
    checkEmpty: async () => {
      const { rows } = await pool.query("select from ledger.blobs where company_id = $1", [
        companyId,
      ])
      assertMeasurement(rows.length === 1, `${rows.length - 1} blobs are left`)
    },
  }
}

async function* piecesOf(bytes: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* bytes
}
