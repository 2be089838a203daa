/** `GET /api/v1/people`: the company's people, who is online and who is invited. */
import { z } from "zod"
import type { Sighting } from "../../adapters/postgres/online-status/port.ts"
import { CLIENT_KINDS } from "../../adapters/postgres/online-status/port.ts"
import {
  GRANTABLE,
  buildPerson,
  PERMISSIONS,
  isAdminRole,
} from "../../domain/access/permissions.ts"
import type { InvitationRow } from "../../projections/access/invitations.ts"
import { listInvitations } from "../../projections/access/invitations.ts"
import type { PersonRow } from "../../projections/access/people.ts"
import { listPeople } from "../../projections/access/people.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedId, isoTimeSchema, roleSchema } from "../frame/kernel/schema.ts"

/** A person is online if they were active within this many seconds. */
const ONLINE_SECONDS = 120

const Permission = z
  .enum(PERMISSIONS)
  .meta({ id: "Permission", description: "A permission of a person" })
const Grantable = z
  .enum(GRANTABLE)
  .describe("A permission or operation that can be granted separately")

const Person = z
  .object({
    id: describedId("the person"),
    name: z.string().nullable().describe("Null if the person was erased"),
    email: z.string().nullable().describe("Null if the person was erased"),
    role: roleSchema,
    self: z.boolean().describe("Whether this is the key's own person"),
    canUseApp: z.boolean().describe("Whether the person may use the company's app"),
    permissions: z
      .array(Permission)
      .optional()
      .describe("Present if the key's person has the permission `Team`"),
    online: z.boolean().describe("Whether the person was active within `onlineSeconds`"),
    onlineIn: z.array(z.enum(CLIENT_KINDS)).describe("The clients in which the person is online"),
    lastSeenAt: isoTimeSchema.nullable().describe("Null if the person was never seen"),
    lastSeenIn: z.enum(CLIENT_KINDS).nullable().describe("Null if the person was never seen"),
    app: z
      .object({
        role: roleSchema,
        grant: z.array(Grantable).describe("Granted in addition to the role"),
        deny: z.array(Grantable).describe("Denied although the role has it"),
      })
      .nullable()
      .describe(
        "Permissions changed for this person; null for owners and admins, who may do everything",
      ),
  })
  .meta({ id: "Person", description: "A person of the company" })

const Invitation = z
  .object({
    email: z.string().nullable().describe("Null if the address was erased"),
    role: roleSchema.describe("The role that the person will have"),
    expiresAt: isoTimeSchema.describe("When the invitation expires"),
  })
  .meta({ id: "Invitation", description: "An invitation that was not accepted yet" })

const People = z.object({
  people: z.array(Person).describe("People who are online first, then by name"),
  invited: z
    .array(Invitation)
    .optional()
    .describe("Present if the key's person has the permission `Team`"),
  onlineSeconds: z.int().describe("A person is online if active within this many seconds"),
  at: isoTimeSchema.describe("Time of this answer"),
})

export const listPeopleRoute = route({
  name: "listPeople",
  method: "GET",
  url: "/api/v1/people",
  group: "people",
  summary: "List the company's people and who is online",
  operation: "team.people.read",
  isCounted: false,
  reply: People,
  readModels: ["people", "invitations"],
  specGap: "The specification does not show what `app.grant` and `app.deny` name.",
  handle: async (ports, caller) => {
    const { companyId } = caller
    const now = ports.clock.now()
    const [rows, sightings] = await Promise.all([
      ports.readAs(companyId, (db) => listPeople(db, companyId)),
      ports.onlineStatus.list(companyId),
    ])
    const seesTeam = caller.person?.permissions.includes("Team") ?? false
    const sightingsByPerson = Map.groupBy(sightings, ({ personId }) => personId)
    const people = rows
      .filter((row) => seesTeam || isSelf(row, caller))
      .map((row) => {
        const onlineStatus = onlineStatusOf(sightingsByPerson.get(row.person_id) ?? [], now)
        return toPersonView(row, onlineStatus, caller, seesTeam)
      })
      // People who are online come first; both groups stay in the order of names.
      .toSorted((a, b) => Number(b.online) - Number(a.online))
    const body = { people, onlineSeconds: ONLINE_SECONDS, at: new Date(now).toISOString() }
    if (!seesTeam) return { ok: true, body }
    const invited = await ports.readAs(companyId, (db) => listInvitations(db, companyId, now))
    return { ok: true, body: { ...body, invited: invited.map(toInvitationView) } }
  },
})

function isSelf(row: PersonRow, caller: Caller): boolean {
  return row.person_id === caller.person?.personId
}

/** Derives the online status from the sightings of one person, newest first. */
function onlineStatusOf(sightings: readonly Sighting[], now: number) {
  const isNow = ({ seenAt }: Sighting) => seenAt >= now - ONLINE_SECONDS * 1_000
  const activeClients = sightings.filter(isNow).map(({ client }) => client)
  const last = sightings[0]
  return {
    online: activeClients.length > 0,
    onlineIn: CLIENT_KINDS.filter((client) => activeClients.includes(client)),
    lastSeenAt: last === undefined ? null : new Date(last.seenAt).toISOString(),
    lastSeenIn: last?.client ?? null,
  }
}

function toPersonView(
  row: PersonRow,
  onlineStatus: ReturnType<typeof onlineStatusOf>,
  caller: Caller,
  seesTeam: boolean,
): z.infer<typeof Person> {
  const { role, granted, denied } = row
  const app = { role, grant: [...granted], deny: [...denied] }
  const { permissions } = buildPerson(row.person_id, role, app)
  return {
    id: row.person_id,
    name: row.name,
    email: row.email,
    role,
    self: isSelf(row, caller),
    canUseApp: true,
    ...(seesTeam ? { permissions: [...permissions] } : {}),
    ...onlineStatus,
    app: isAdminRole(role) ? null : app,
  }
}

function toInvitationView({ email, role, expires_at }: InvitationRow): z.infer<typeof Invitation> {
  return { email, role, expiresAt: expires_at.toISOString() }
}
