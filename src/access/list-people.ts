/** `GET /api/v1/people`: the company's people, who is online and who is invited. */
import { z } from "zod"
import type { Place, Sighting } from "../../adapters/presence/port.ts"
import { PLACES } from "../../adapters/presence/port.ts"
import { GRANTABLE, personOf } from "../../domain/access/grants.ts"
import { PERMISSIONS, ROLES, isAdminRole } from "../../domain/access/permissions.ts"
import type { InvitationRow } from "../../projections/access/invitations.ts"
import { listInvitations } from "../../projections/access/invitations.ts"
import type { PersonRow } from "../../projections/access/people.ts"
import { listPeople } from "../../projections/access/people.ts"
import type { Caller } from "../frame/calls/route.ts"
import { route } from "../frame/calls/route.ts"
import { isoTime } from "../frame/kernel/schema.ts"

/** Active within this many seconds counts as online. */
const ONLINE_SECONDS = 120

const Person = z.object({
  id: z.string(),
  name: z.string().nullable(),
  email: z.string().nullable(),
  role: z.enum(ROLES),
  self: z.boolean(),
  canUseApp: z.boolean(),
  permissions: z.array(z.enum(PERMISSIONS)).optional(),
  online: z.boolean(),
  onlineIn: z.array(z.enum(PLACES)),
  lastSeenAt: isoTime.nullable(),
  lastSeenIn: z.enum(PLACES).nullable(),
  app: z
    .object({
      role: z.enum(ROLES),
      grant: z.array(z.enum(GRANTABLE)),
      deny: z.array(z.enum(GRANTABLE)),
    })
    .nullable(),
})

const Invite = z.object({ email: z.string().nullable(), role: z.enum(ROLES), expiresAt: isoTime })

const People = z.object({
  people: z.array(Person),
  invited: z.array(Invite).optional(),
  onlineSeconds: z.int(),
  at: isoTime,
})

/** The route. */
export const peopleList = route({
  method: "GET",
  url: "/api/v1/people",
  group: "people",
  summary: "List the company's people and who is online",
  operation: "team.people.read",
  counted: false,
  reply: People,
  reads: ["people", "invitations"],
  specGap: "The specification does not show what `app.grant` and `app.deny` name.",
  handle: async (ports, caller) => {
    const { companyId } = caller
    const now = ports.clock.now()
    const [rows, sightings] = await Promise.all([
      ports.readAs(companyId, (db) => listPeople(db, companyId)),
      ports.presence.of(companyId),
    ])
    const seesTeam = caller.person?.permissions.includes("Team") ?? false
    const seenBy = Map.groupBy(sightings, ({ personId }) => personId)
    const people = rows
      .filter((row) => seesTeam || isSelf(row, caller))
      .map((row) => {
        const presence = presenceOf(seenBy.get(row.person_id) ?? [], now)
        return shownPerson(row, presence, caller, seesTeam)
      })
      // Who is online comes first; both halves stay in the order of names.
      .toSorted((a, b) => Number(b.online) - Number(a.online))
    const body = { people, onlineSeconds: ONLINE_SECONDS, at: new Date(now).toISOString() }
    if (!seesTeam) return { ok: true, body }
    const invited = await ports.readAs(companyId, (db) => listInvitations(db, companyId, now))
    return { ok: true, body: { ...body, invited: invited.map(shownInvite) } }
  },
})

function isSelf(row: PersonRow, caller: Caller): boolean {
  return row.person_id === caller.person?.personId
}

/** What sightings of one person, the latest first, say of where they are. */
function presenceOf(sightings: readonly Sighting[], now: number) {
  const isNow = ({ seenAt }: Sighting) => seenAt >= now - ONLINE_SECONDS * 1_000
  const here = sightings.filter(isNow).map(({ place }) => place)
  const last = sightings[0]
  return {
    online: here.length > 0,
    onlineIn: PLACES.filter((place) => here.includes(place)) as Place[],
    lastSeenAt: last === undefined ? null : new Date(last.seenAt).toISOString(),
    lastSeenIn: last?.place ?? null,
  }
}

function shownPerson(
  row: PersonRow,
  presence: ReturnType<typeof presenceOf>,
  caller: Caller,
  seesTeam: boolean,
): z.infer<typeof Person> {
  const { role, granted, denied } = row
  const app = { role, grant: [...granted], deny: [...denied] }
  const { permissions } = personOf(row.person_id, role, app)
  return {
    id: row.person_id,
    name: row.name,
    email: row.email,
    role,
    self: isSelf(row, caller),
    canUseApp: true,
    ...(seesTeam ? { permissions: [...permissions] } : {}),
    ...presence,
    app: isAdminRole(role) ? null : app,
  }
}

function shownInvite({ email, role, expires_at }: InvitationRow): z.infer<typeof Invite> {
  return { email, role, expiresAt: expires_at.toISOString() }
}
