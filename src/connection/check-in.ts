/** Daily check-in of installed apps, update reports and the account: versions and counts, never contents. */
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

/** A text that a fact holds unsealed, so it cannot be erased: the format leaves no room for an address. */
const plainText = (maxLength: number) =>
  z
    .string({ error: "Must be text." })
    .regex(/^[\w.: -]*$/, "Must be letters, digits, spaces and . : - _ only.")
    .max(maxLength, `Must be at most ${maxLength} characters.`)

const count = z
  .int("Must be a whole number.")
  .nonnegative("Must be 0 or more.")
  .optional()
  .describe("Number in the app")

const CheckIn = z.object({
  installId: installIdField.nullable().describe("Null the first time; the answer has a new one"),
  version: versionField.describe("The app's version"),
  platform: plainText(100).nullish().describe("The app's platform"),
  seal: plainText(128).nullish().describe("The fingerprint of the protected core"),
  counts: z
    .object(Object.fromEntries(APP_COUNT_NAMES.map((name) => [name, count])), {
      error: "Must be an object of numbers.",
    })
    .optional()
    .describe("Counts of the app's contents, never the contents"),
})

const CheckedIn = z.object({
  installId: describedId("the installed app, for the next time"),
  companyId: describedId("the company"),
  latest: latestVersionField,
  channel: channelField,
  seal: z
    .enum(["matches", "changed", "unknown"])
    .describe("Whether the fingerprint equals that of the version's release"),
})

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
  specGap: "The specification does not show the method: POST, because it changes something.",
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
    const profile = await ports.runner.read(stream, companyProfileOf)
    const channel = profile?.channel ?? "stable"
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
  installId: installIdField.describe("Id of the installed app, from its check-in"),
  eventId: uuid.describe("Id of this report; a repeated id is a replay"),
  attemptId: uuid.describe("Id of the update attempt"),
  sequence: z
    .int("Must be a whole number.")
    .positive("Must be 1 or more.")
    .describe("Number of the report in the attempt; a lower one never moves the status back"),
  kind: enumField(DEVICE_KINDS).describe("The updated part"),
  version: versionField.describe("The version to install"),
  status: enumField(UPDATE_STATUSES).describe("Status of the update"),
  reason: enumField(UPDATE_REASONS).optional().describe("Why the update was deferred or failed"),
})

const Reported = z.object({
  ok: z.literal(true).describe("The report was recorded"),
  replayed: z.boolean().describe("Whether the same report was recorded before"),
})

export const reportDevice = route({
  name: "reportDevice",
  method: "POST",
  url: "/api/v1/device-updates",
  group: "connection",
  summary: "Report the status of an update on a device",
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
  specGap: "The specification does not show the method: POST, because it changes something.",
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
  plan: z.enum(PLANS).describe("The company's plan"),
  billing: z.enum(["prepaid", "card"]).meta({ description: "How the company pays" }),
  balanceMicros: microsSchema.describe("The funds, millionths of a dollar"),
  person: z
    .object({
      id: describedId("the person"),
      name: z.string().nullable().describe("Null once erased"),
      email: z.string().nullable().describe("Null once erased"),
      role: roleSchema,
    })
    .nullable()
    .meta({ description: "The calling person; null for the app key without a sign-in" }),
  latest: latestVersionField,
  channel: channelField,
})

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
    "The specification names the fields but not their types: company and person are objects, " +
    "billing is how the company pays.",
  handle: async (ports, caller) => {
    const { companyId } = caller
    const stream = accessStreamOf(companyId)
    const profile = await ports.runner.read(stream, companyProfileOf)
    if (profile === null) throw new Error(`a key of ${companyId} works before the company is open`)
    const { channel, plan, pays } = profile
    const [name, balanceMicros, person, latest] = await Promise.all([
      ports.sealing.unseal(companyId, profile.name),
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
