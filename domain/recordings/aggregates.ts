import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { RecordingEvent } from "./recording-events.ts"
import { recordingCodec } from "./recording-events.ts"
import { recordingsDecider, recordingsBytes, recordingsCheckpoint } from "./recordings.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly recordings: RecordingEvent
  }
}

/** The recordings of a company's calls. */
export const RECORDINGS_AGGREGATE = {
  category: "recordings" as const,
  decider: recordingsDecider,
  codec: recordingCodec,
  checkpoint: recordingsCheckpoint,
  bytesOf: recordingsBytes,
}

/** Names the stream `recordings-<companyId>`. */
export const recordingsStreamOf = (companyId: CompanyId) =>
  streamOf(RECORDINGS_AGGREGATE, companyId)
