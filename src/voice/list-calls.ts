/**
 * `GET /api/v1/phone/calls`: the newest 200 calls after `since`, oldest first. Where there are more,
 * `nextCursor` gives the 200 before these, and so on back to `since`.
 */
import { z } from "zod"
import { CALL_OUTCOMES } from "../../domain/voice/call-events.ts"
import type { CallRow } from "../../projections/voice/calls.ts"
import { listCalls } from "../../projections/voice/calls.ts"
import { NewestListQuery, listNewest, nextCursorSchema } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"

const MAX_CALLS = 200
/** What a cursor of this list is made for. */
const LIST = "calls"

const Call = z
  .object({
    id: describedId("the call"),
    direction: z.literal("in").describe("Every call comes to the company: none is placed"),
    from: z
      .string()
      .nullable()
      .describe("Who called; null where no number was shown, or once erased"),
    to: z.string().nullable().describe("The company's number; null once erased"),
    forwardedTo: z
      .string()
      .nullable()
      .describe("Who took it; null where nobody did, or once erased"),
    status: z.enum(["ringing", "in_progress", "completed"]).describe("How far it has come"),
    outcome: z.enum(CALL_OUTCOMES).nullable().describe("What it came to; null while it lasts"),
    seconds: z.int().describe("How long it lasted once answered, each second that began counted"),
    recorded: z
      .boolean()
      .describe("Whether it was recorded as it was spoken; that may have been deleted since"),
    recordingSeconds: z.int().describe("How long that recording was; 0 for none"),
    voicemailSeconds: z
      .int()
      .nullable()
      .describe("How long the voicemail was that was left, also once deleted; null for none"),
    chargedMicros: z.int().describe("What its minutes cost, less what came back of them"),
    createdAt: isoTimeSchema.describe("When the call came: what `since` is compared with"),
  })
  .meta({ id: "Call", description: "A call that came to a number of the company's" })

const Calls = z.object({
  calls: z
    .array(Call)
    .describe(`The newest ${MAX_CALLS} after \`since\`, the oldest of them first`),
  nextCursor: nextCursorSchema,
})

/** The route. */
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
    "The specification gives the newest 200 alone: `cursor` and `nextCursor` walk from there back to " +
    "`since`. It does not say what `status` can be, nor what stands for an outcome while a call lasts: null.",
  handle: async (ports, caller, { query }) => {
    const { companyId } = caller
    const list = { list: LIST, companyId, max: MAX_CALLS }
    const found = await listNewest(list, query, (asked) =>
      ports.readAs(companyId, (db) => listCalls(db, asked)),
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
