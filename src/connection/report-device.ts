/** `POST /api/v1/device-updates`: a device says how an update stands; the same again is a replay. */
import { appOf } from "../../domain/connection/aggregates.ts"
import { z } from "zod"
import {
  DEVICE_KINDS,
  UPDATE_REASONS,
  UPDATE_STATUSES,
} from "../../domain/connection/app-events.ts"
import { causeOf } from "../frame/calls/caller-cause.ts"
import { refusal } from "../frame/calls/refusal.ts"
import { route } from "../frame/calls/route.ts"
import { installId, oneOf, versionName } from "./schema.ts"

const MOST_BYTES = 4_096

const uuid = z.guid("Must be a UUID.").transform((text) => text.toLowerCase())

const Report = z.strictObject({
  installId,
  eventId: uuid,
  attemptId: uuid,
  sequence: z.int("Must be a whole number.").positive("Must be 1 or more."),
  kind: oneOf(DEVICE_KINDS),
  version: versionName,
  status: oneOf(UPDATE_STATUSES),
  reason: oneOf(UPDATE_REASONS).optional(),
})

const Reported = z.object({ ok: z.literal(true), replayed: z.boolean() })

/** The route. */
export const reportDevice = route({
  method: "POST",
  url: "/api/v1/device-updates",
  group: "connection",
  summary: "Report how an update stands on a device",
  example: {
    body: {
      installId: "ef".repeat(28),
      eventId: "0b6f1c6e-3f0a-4a51-9c36-4b8d1f6f2a10",
      attemptId: "0b6f1c6e-3f0a-4a51-9c36-4b8d1f6f2a10",
      ...{ sequence: 1, kind: "app", version: "2.0.0", status: "started" },
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
