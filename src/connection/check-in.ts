/** `POST /api/v1/checkin`: an installed app says once a day how it is, never what is in it. */
import { RELEASES_STREAM, appStreamOf } from "../../domain/connection/aggregates.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { randomBytes } from "node:crypto"
import { z } from "zod"
import { companyProfileOf } from "../../domain/access/access.ts"
import {
  APP_COUNT_NAMES,
  appCountsFrom,
  DEVICE_KINDS,
  UPDATE_REASONS,
  UPDATE_STATUSES,
} from "../../domain/connection/app-events.ts"
import { latestVersion, sealStatusOf } from "../../domain/connection/releases.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedId, microsSchema, roleSchema } from "../frame/kernel/schema.ts"
import {
  channelField,
  installIdField,
  latestVersionField,
  versionField,
  enumField,
} from "./list-updates.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { PLANS } from "../../domain/access/access-events.ts"
import { fundsBalanceOf } from "../../projections/charging/accounts.ts"
import { findPersonRow } from "../../projections/access/people.ts"
import type { Ports } from "../frame/ports.ts"

/** Stands in the open in a fact, which nobody can erase: no address of a person fits in. */
const plainText = (most: number) =>
  z
    .string({ error: "Must be text." })
    .regex(/^[\w.: -]*$/, "Must be letters, digits, spaces and . : - _ only.")
    .max(most, `Must be at most ${most} characters.`)

const count = z
  .int("Must be a whole number.")
  .nonnegative("Must be 0 or more.")
  .optional()
  .describe("How many there are in the app")

const CheckIn = z.object({
  installId: installIdField.nullable().describe("Null the first time: the answer gives a new one"),
  version: versionField.describe("The app's version"),
  platform: plainText(100).nullish().describe("What it runs on"),
  seal: plainText(128).nullish().describe("The fingerprint of the protected core"),
  counts: z
    .object(Object.fromEntries(APP_COUNT_NAMES.map((name) => [name, count])), {
      error: "Must be an object of numbers.",
    })
    .optional()
    .describe("How much there is in the app, never what"),
})

const CheckedIn = z.object({
  installId: describedId("the installed app, for the next time"),
  companyId: describedId("the company"),
  latest: latestVersionField,
  channel: channelField,
  seal: z
    .enum(["matches", "changed", "unknown"])
    .describe("Whether the fingerprint is that of the version's release"),
})

/** The route. */
export const checkIn = route({
  name: "checkIn",
  method: "POST",
  url: "/api/v1/checkin",
  group: "connection",
  summary: "Check in: version and counts, once a day",
  example: { body: { installId: "ef".repeat(28), version: "2.0.0" } },
  operation: "connection.checkin",
  isCounted: false,
  body: CheckIn,
  reply: CheckedIn,
  specGap: "The specification does not show the verb: POST, because it does something.",
  handle: async (ports, caller, { body }) => {
    const { companyId } = caller
    const { version, platform = null, seal = null, counts = {} } = body
    const id = body.installId ?? randomBytes(28).toString("hex")
    const command = { type: "CheckIn" as const, installId: id, version, platform, coreHash: seal }
    const outcome = await ports.runner.execute(
      appStreamOf(companyId, id),
      { ...command, counts: appCountsFrom(counts) },
      causeOf(caller),
    )
    const stream = accessStreamOf(companyId)
    const standing = await ports.runner.read(stream, companyProfileOf)
    const channel = standing?.channel ?? "stable"
    const known = await ports.runner.read(RELEASES_STREAM, (state) => ({
      latest: latestVersion(state, channel),
      seal: sealStatusOf(state, version, seal),
    }))
    const position = outcome.accepted ? outcome.position : null
    return { ok: true, body: { installId: id, companyId, channel, ...known }, position }
  },
})

const MAX_BODY_BYTES = 4_096

const uuid = z.guid("Must be a UUID.").transform((text) => text.toLowerCase())

const Report = z.strictObject({
  installId: installIdField.describe("Id of the installed app, as its check-in gave it"),
  eventId: uuid.describe("Names this report: the same again is a replay"),
  attemptId: uuid.describe("Names the attempt to update that it is about"),
  sequence: z
    .int("Must be a whole number.")
    .positive("Must be 1 or more.")
    .describe("Which report of the attempt it is: a lower one never moves the status back"),
  kind: enumField(DEVICE_KINDS).describe("What is updated"),
  version: versionField.describe("The version that it is updated to"),
  status: enumField(UPDATE_STATUSES).describe("How the update stands"),
  reason: enumField(UPDATE_REASONS).optional().describe("Why it was deferred or failed"),
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
  isCounted: false,
  body: Report,
  bodyLimitBytes: MAX_BODY_BYTES,
  reply: Reported,
  refusalCodes: ["conflict"],
  refusalMessages: { conflict: "This eventId was used for another report; use a new one." },
  specGap: "The specification does not show the verb: POST, because it does something.",
  handle: async (ports, caller, { body }) => {
    const command = { type: "ReportDevice" as const, ...body, reason: body.reason ?? null }
    const outcome = await ports.runner.execute(
      appStreamOf(caller.companyId, body.installId),
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

const Account = z.object({
  company: z
    .object({
      id: describedId("the company"),
      name: z.string().nullable().describe("Null once erased"),
    })
    .describe("The key's company"),
  plan: z.enum(PLANS).describe("The plan that it is on"),
  billing: z.enum(["prepaid", "card"]).meta({ description: "What the company pays from" }),
  balanceMicros: microsSchema.describe("The funds, millionths of a dollar"),
  person: z
    .object({
      id: describedId("the person"),
      name: z.string().nullable().describe("Null once it was erased"),
      email: z.string().nullable().describe("Null once it was erased"),
      role: roleSchema,
    })
    .nullable()
    .meta({ description: "Whose call it is; null for the shared key without a sign-in" }),
  latest: latestVersionField,
  channel: channelField,
})

/** The route. */
export const readAccount = route({
  name: "readAccount",
  method: "GET",
  url: "/api/v1/account",
  group: "connection",
  summary: "Read the company's account",
  operation: "connection.account.read",
  isCounted: false,
  reply: Account,
  readModels: ["accounts", "people"],
  readStreams: [accessStreamOf, () => RELEASES_STREAM],
  specGap:
    "The specification names the fields and not their shapes: company and person are objects, " +
    "billing is what the company pays from.",
  handle: async (ports, caller) => {
    const { companyId } = caller
    const stream = accessStreamOf(companyId)
    const standing = await ports.runner.read(stream, companyProfileOf)
    if (standing === null) throw new Error(`a key of ${companyId} works before it is open`)
    const { channel, plan, pays } = standing
    const [name, balanceMicros, person, latest] = await Promise.all([
      ports.sealing.unseal(companyId, standing.name),
      ports.readAs(companyId, (db) => fundsBalanceOf(db, companyId)),
      readPersonOf(ports, caller),
      ports.runner.read(RELEASES_STREAM, (state) => latestVersion(state, channel)),
    ])
    const company = { id: companyId, name }
    return {
      ok: true,
      body: { company, plan, billing: pays, balanceMicros, person, latest, channel },
    }
  },
})

async function readPersonOf(ports: Pick<Ports, "readAs">, { companyId, person }: Caller) {
  if (person === null) return null
  const { personId, role } = person
  const row = await ports.readAs(companyId, (db) => findPersonRow(db, companyId, personId))
  return { id: personId, name: row?.name ?? null, email: row?.email ?? null, role }
}
