/** `POST /api/v1/device-updates`: a device says how an update stands; the same again is a replay. */
import { appOf } from "../../domain/connection/aggregates.ts"
import { z } from "zod"
import {
  DEVICE_KINDS,
  UPDATE_REASONS,
  UPDATE_STATUSES,
} from "../../domain/connection/app-events.ts"
import { causeOf } from "../frame/routes/call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { installId, oneOf, versionName } from "./schema.ts"

const MOST_BYTES = 4_096

const uuid = z.guid("Must be a UUID.").transform((text) => text.toLowerCase())

const Report = z.strictObject({
  installId: installId.describe("Id of the installed app, as its check-in gave it"),
  eventId: uuid.describe("Names this report: the same again is a replay"),
  attemptId: uuid.describe("Names the attempt to update that it is about"),
  sequence: z
    .int("Must be a whole number.")
    .positive("Must be 1 or more.")
    .describe("Which report of the attempt it is: a lower one never moves the status back"),
  kind: oneOf(DEVICE_KINDS).describe("What is updated"),
  version: versionName.describe("The version that it is updated to"),
  status: oneOf(UPDATE_STATUSES).describe("How the update stands"),
  reason: oneOf(UPDATE_REASONS).optional().describe("Why it was deferred or failed"),
})

const Reported = z.object({
  ok: z.literal(true).describe("It was taken"),
  replayed: z.boolean().describe("Whether this very report was taken before"),
})

/** The route. */
export const reportDevice = route({
  name: "reportDevice",
  method: "POST",
  url: "/api/v1/device-updates",
  group: "connection",
  summary: "Report how an update stands on a device",
  example: {
    body: {
      installId: "ef".repeat(28),
      eventId: "0b6f1c6e-3f0a-4a51-9c36-4b8d1f6f2a10",
      attemptId: "0b6f1c6e-3f0a-4a51-9c36-4b8d1f6f2a10",
      sequence: 1,
      kind: "app",
      version: "2.0.0",
      status: "started",
    },
  },
  operation: "connection.devices.report",
  counted: false,
  body: Report,
  bodyLimitBytes: MOST_BYTES,
  reply: Reported,
  refuses: ["conflict"],
  says: { conflict: "This eventId was used for another report; use a new one." },
  specGap: "The specification does not show the verb: POST, because it does something.",
  handle: async (ports, caller, { body }) => {
    const command = { type: "ReportDevice" as const, ...body, reason: body.reason ?? null }
    const outcome = await ports.runner.execute(
      appOf(caller.companyId, body.installId),
      command,
      causeOf(caller),
    )
    if (!outcome.accepted) {
      return { ok: false, refusal: refusal("conflict", outcome.refusal.message) }
    }
    const { facts, position } = outcome
    return { ok: true, body: { ok: true, replayed: facts.length === 0 }, position }
  },
})
