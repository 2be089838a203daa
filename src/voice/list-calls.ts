/** `GET /api/v1/phone/calls`: the newest 200 calls after `since`; `nextCursor` leads to older ones. */
import { z } from "zod"
import { CALL_OUTCOMES } from "../../domain/voice/call-events.ts"
import type { CallRow } from "../../projections/voice/calls.ts"
import { listCalls } from "../../projections/voice/calls.ts"
import { NewestListQuery, listNewest, nextCursorSchema } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"

const MAX_CALLS = 200
/** Ties a cursor to this list. */
const LIST = "calls"

const Call = z
  .object({
    id: describedId("the call"),
    direction: z.literal("in").describe("Always `in`: companies place no calls"),
    from: z.string().nullable().describe("The caller's number; null if withheld, or after erasure"),
    to: z.string().nullable().describe("The company's number; null after erasure"),
    forwardedTo: z
      .string()
      .nullable()
      .describe("The phone that took the call; null if none did, or after erasure"),
    status: z.enum(["ringing", "in_progress", "completed"]).describe("State of the call"),
    outcome: z.enum(CALL_OUTCOMES).nullable().describe("How it ended; null during the call"),
    seconds: z.int().describe("Duration after the answer, in started seconds"),
    recorded: z.boolean().describe("Whether it was recorded, even if the recording was deleted"),
    recordingSeconds: z.int().describe("Length of the recording, seconds; 0 if there was none"),
    voicemailSeconds: z
      .int()
      .nullable()
      .describe("Length of the voicemail, seconds, even if it was deleted; null if there was none"),
    chargedMicros: z.int().describe("The price of its minutes, less refunds"),
    createdAt: isoTimeSchema.describe("When the call came in; `since` compares with it"),
  })
  .meta({ id: "Call", description: "An incoming call to a number of the company" })

const Calls = z.object({
  calls: z.array(Call).describe(`The newest ${MAX_CALLS} after \`since\`, oldest first`),
  nextCursor: nextCursorSchema,
})

export const listPhoneCalls = route({
  name: "listCalls",
  method: "GET",
  url: "/api/v1/phone/calls",
  group: "phone",
  summary: "List calls",
  operation: "phone.calls.read",
  isCounted: true,
  query: NewestListQuery,
  reply: Calls,
  readModels: ["calls"],
  specGap:
    "The specification returns only the newest 200: `cursor` and `nextCursor` page from there back to " +
    "`since`. It does not list the values of `status`; during a call `outcome` is null.",
  handle: async (ports, caller, { query }) => {
    const { companyId } = caller
    const list = { list: LIST, companyId, max: MAX_CALLS }
    const found = await listNewest(list, query, (page) =>
      ports.readAs(companyId, (db) => listCalls(db, page)),
    )
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    return { ok: true, body: { calls: found.shown.map(callOf), ...found.more } }
  },
})

function callOf(row: CallRow): z.infer<typeof Call> {
  return {
    id: row.call_id,
    direction: row.direction,
    from: row.from_number,
    to: row.to_number,
    forwardedTo: row.forwarded_to,
    status: row.status,
    outcome: row.outcome,
    seconds: row.seconds,
    recorded: row.recorded,
    recordingSeconds: row.recording_seconds,
    voicemailSeconds: row.voicemail_seconds,
    chargedMicros: row.charged_micros,
    createdAt: row.created_at.toISOString(),
  }
}
