import { RECORDINGS_AGGREGATE } from "../../domain/recordings/aggregates.ts"
import { recordingsReadModel as recordingRows } from "../../projections/recordings/recordings.ts"
import type { Slice } from "../frame/slice.ts"
import { deleteRecording, recordingList, recordingAudio } from "./list-recordings.ts"
import { readRetentionDays, setRetentionDays } from "./store-audio.ts"
import {
  chargeStoredMinutes,
  deleteAudio,
  fetchAudio,
  eraseRecordings,
  expireRecordings,
} from "./reactions.ts"

/** Recordings of calls: storage, retention and its charges. */
export const recordingsSlice: Slice = {
  name: "recordings",
  streams: { perCompany: [RECORDINGS_AGGREGATE] },
  routes: [recordingList, readRetentionDays, setRetentionDays, recordingAudio, deleteRecording],
  readModels: [recordingRows],
  reactions: [fetchAudio, expireRecordings, chargeStoredMinutes, deleteAudio, eraseRecordings],
}
