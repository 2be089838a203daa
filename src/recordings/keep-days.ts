/** `/api/v1/phone/recordings/keep`: for how long recordings are kept. */
import { z } from "zod"
import { recordingsOf } from "../../domain/recordings/aggregates.ts"
import { KEEP_DAYS } from "../../domain/recordings/recording-events.ts"
import { keepDaysOf } from "../../domain/recordings/recordings.ts"
import { causeOf } from "../frame/routes/call.ts"
import { route } from "../frame/routes/declare/route.ts"

const Keep = z.object({
  days: z
    .union(
      KEEP_DAYS.map((days) => z.literal(days)),
      { error: `Must be ${KEEP_DAYS.join(", ")} or null.` },
    )
    .nullable()
    .describe("Days from the call on; null: until somebody deletes it"),
})

const base = {
  group: "phone",
  url: "/api/v1/phone/recordings/keep",
  counted: true,
  reply: Keep,
} as const

/** Reads it. */
export const readKeepDays = route({
  ...base,
  name: "readKeepRecordings",
  method: "GET",
  summary: "How long recordings are kept",
  operation: "phone.recordings.read",
  looks: [recordingsOf],
  specGap: "The specification names no default: `null`, so that nothing is deleted unasked.",
  handle: async (ports, { companyId }) => ({
    ok: true,
    body: { days: await ports.runner.read(recordingsOf(companyId), keepDaysOf) },
  }),
})

/** Sets it. */
export const setKeepDays = route({
  ...base,
  name: "keepRecordings",
  method: "PUT",
  summary: "Say how long recordings are kept",
  example: { body: { days: 90 } },
  operation: "phone.recordings.keep",
  body: Keep,
  specGap: "The specification does not show the verb: PUT, because it saves the whole.",
  handle: async (ports, caller, { body: { days } }) => {
    const command = { type: "SetKeepDays" as const, days }
    const stream = recordingsOf(caller.companyId)
    const done = await ports.runner.execute(stream, command, causeOf(caller), keepDaysOf)
    return { ok: true, body: { days: done.view }, position: done.accepted ? done.position : null }
  },
})
