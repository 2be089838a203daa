/** `GET /api/v1/phone/recordings`: the calls of which audio is held, newest first. */
import { z } from "zod"
import type { RecordedCallRow } from "../../projections/recordings/recordings.ts"
import { listRecordings } from "../../projections/recordings/recordings.ts"
import { route } from "../frame/routes/declare/route.ts"
import { idOf, isoTime, queryTime } from "../frame/kernel/schema.ts"

const MOST = 100
const USUAL = 50

const Audio = (what: string) =>
  z
    .object({ seconds: z.int().describe("How long it is") })
    .nullable()
    .describe(`${what}; null where none is held`)

const Recording = z
  .object({
    id: idOf("the call"),
    direction: z.enum(["in", "out"]).describe("`in` for a call that came to the company"),
    from: z
      .string()
      .nullable()
      .describe("Who called; null where they showed no number, or it was erased"),
    to: z.string().nullable().describe("Which number was called; null once it was erased"),
    createdAt: isoTime.describe("When the call came: what `before` is compared with"),
    recording: Audio("The call as it was spoken"),
    voicemail: Audio("What the caller left behind the greeting"),
  })
  .meta({ id: "Recording", description: "A call of which audio is held" })

const Query = z.object({
  before: queryTime.optional().describe("Only calls that came before this instant"),
  limit: z.coerce
    .number()
    .pipe(z.int().min(1).max(MOST))
    .default(USUAL)
    .describe("How many at most"),
})

/** The route. */
export const recordingList = route({
  name: "listRecordings",
  method: "GET",
  url: "/api/v1/phone/recordings",
  group: "phone",
  summary: "List calls with recordings",
  operation: "phone.recordings.read",
  counted: true,
  query: Query,
  reply: z.object({ recordings: z.array(Recording).describe("The newest call first") }),
  reads: ["calls", "recordings"],
  handle: async (ports, { companyId }, { query: { before = null, limit } }) => {
    const asked = { before, limit }
    const rows = await ports.readAs(companyId, (db) => listRecordings(db, companyId, asked))
    return { ok: true, body: { recordings: rows.map(recordingOf) } }
  },
})

function recordingOf(row: RecordedCallRow): z.infer<typeof Recording> {
  const held = (seconds: number | null) => (seconds === null ? null : { seconds })
  return {
    id: row.call_id,
    direction: row.direction,
    from: row.from_number,
    to: row.to_number,
    createdAt: row.created_at.toISOString(),
    recording: held(row.call_seconds),
    voicemail: held(row.voicemail_seconds),
  }
}
