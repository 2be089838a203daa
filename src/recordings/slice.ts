/** Recordings: audio of calls, for how long it is kept, and what keeping it costs. */
import { RECORDINGS } from "../../domain/recordings/aggregates.ts"
import { recordings as recordingRows } from "../../projections/recordings/recordings.ts"
import type { Slice } from "../frame/slice.ts"
import { deleteRecording, recordingList, recordingAudio } from "./list-recordings.ts"
import { readKeepDays, setKeepDays } from "./keep-audio.ts"
import {
  chargeKeptMinutes,
  deleteAudio,
  fetchAudio,
  eraseRecordings,
  keepRecordings,
} from "./reactions.ts"

/** Recordings of calls. */
export const recordings: Slice = {
  name: "recordings",
  streams: { ofCompanies: [RECORDINGS] },
  routes: [recordingList, readKeepDays, setKeepDays, recordingAudio, deleteRecording],
  readModels: [recordingRows],
  reactions: [fetchAudio, keepRecordings, chargeKeptMinutes, deleteAudio, eraseRecordings],
}
