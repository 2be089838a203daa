/** `GET /api/v1/people`: the company's people and who is online. */
import { z } from "zod"
import { PERMISSIONS, ROLES, permissionsOf } from "../../domain/access/permissions.ts"
import type { PersonRow } from "../../projections/people.ts"
import { listPeople } from "../../projections/people.ts"
import type { Caller, Route } from "../pipeline/route.ts"
import { route } from "../pipeline/route.ts"
import { isoTime } from "../schema.ts"

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
  onlineIn: z.array(z.enum(["app", "dashboard", "launcher"])),
  lastSeenAt: isoTime.nullable(),
  lastSeenIn: z.string().nullable(),
  app: z
    .object({ role: z.string(), grant: z.array(z.string()), deny: z.array(z.string()) })
    .nullable(),
})

const People = z.object({
  people: z.array(Person),
  invited: z
    .array(z.object({ email: z.string(), role: z.enum(ROLES), expiresAt: isoTime }))
    .optional(),
  onlineSeconds: z.int(),
  at: isoTime,
})

/** The route. */
const peopleList = route<unknown, unknown, z.infer<typeof People>>({
  method: "GET",
  url: "/api/v1/people",
  group: "people",
  summary: "List the company's people and who is online",
  operation: "team.people.read",
  counted: false,
  reply: People,
  reads: ["people"],
  handle: async (ports, caller) => {
    const { companyId } = caller
    const rows = await ports.readAs(companyId, (db) => listPeople(db, companyId))
    const seesTeam = caller.person?.permissions.includes("Team") ?? false
    const shown = rows.filter((row) => seesTeam || isSelf(row, caller))
    const at = new Date(ports.clock.now()).toISOString()
    const people = shown.map((row) => personOf(row, caller, seesTeam))
    const body = { people, onlineSeconds: ONLINE_SECONDS, at }
    return { ok: true, body: seesTeam ? { ...body, invited: [] } : body }
  },
})

function isSelf(row: PersonRow, caller: Caller): boolean {
  return row.person_id === caller.person?.personId
}

function personOf(row: PersonRow, caller: Caller, seesTeam: boolean): z.infer<typeof Person> {
  const isAdmin = row.role === "owner" || row.role === "admin"
  const person = {
    id: row.person_id,
    name: row.name,
    email: row.email,
    role: row.role,
    self: isSelf(row, caller),
    canUseApp: true,
    online: false,
    onlineIn: [],
    lastSeenAt: null,
    lastSeenIn: null,
    app: isAdmin ? null : { role: row.role, grant: [...row.granted], deny: [] },
  }
  if (!seesTeam) return person
  return { ...person, permissions: [...permissionsOf(row.role, row.granted)] }
}

/** The routes of the people slice. */
export const peopleRoutes: readonly Route[] = [peopleList]
