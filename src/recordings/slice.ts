/** Recordings: audio of calls, for how long it is kept, and what keeping it costs. */
import { RECORDINGS } from "../../domain/recordings/aggregates.ts"
import { recordings as recordingRows } from "../../projections/recordings/recordings.ts"
import type { Slice } from "../frame/slice.ts"
import { deleteRecording } from "./delete-recording.ts"
import { readKeepDays, setKeepDays } from "./keep-days.ts"
import { recordingList } from "./list-recordings.ts"
import { recordingAudio } from "./play-recording.ts"
import { chargeKeptMinutes } from "./reactions/charge-kept-minutes.ts"
import { deleteAudio } from "./reactions/delete-audio.ts"
import { fetchAudio } from "./reactions/fetch-audio.ts"
import { eraseRecordings, keepRecordings } from "./reactions/keep-recordings.ts"

/** Recordings of calls. */
export const recordings: Slice = {
  name: "recordings",
  streams: { ofCompanies: [RECORDINGS] },
  routes: [recordingList, readKeepDays, setKeepDays, recordingAudio, deleteRecording],
  readModels: [recordingRows],
  reactions: [fetchAudio, keepRecordings, chargeKeptMinutes, deleteAudio, eraseRecordings],
}
