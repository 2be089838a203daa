/** `GET /api/v1/account`: what an installed app shows of its company and of who uses it. */
import { accessOf } from "../../domain/access/aggregates.ts"
import { RELEASES } from "../../domain/connection/aggregates.ts"
import { z } from "zod"
import { companyStanding } from "../../domain/access/access.ts"
import { PLANS } from "../../domain/access/access-events.ts"
import { ROLES } from "../../domain/access/permissions.ts"
import { latestVersion } from "../../domain/connection/releases.ts"
import { fundsOf } from "../../projections/charging/accounts.ts"
import { findPersonRow } from "../../projections/access/people.ts"
import type { Caller } from "../frame/calls/route.ts"
import { route } from "../frame/calls/route.ts"
import type { Ports } from "../frame/ports.ts"

const Account = z.object({
  company: z.object({ id: z.string(), name: z.string().nullable() }),
  plan: z.enum(PLANS),
  billing: z.enum(["prepaid", "card"]).meta({ description: "What the company pays from" }),
  balanceMicros: z.int(),
  person: z
    .object({
      id: z.string(),
      name: z.string().nullable(),
      email: z.string().nullable(),
      role: z.enum(ROLES),
    })
    .nullable()
    .meta({ description: "Whose call it is; null for the shared key without a sign-in" }),
  latest: z.string().nullable().meta({ description: "The newest version in the channel" }),
  channel: z.string(),
})

/** The route. */
export const readAccount = route({
  method: "GET",
  url: "/api/v1/account",
  group: "connection",
  summary: "Read the company's account",
  operation: "connection.account.read",
  counted: false,
  reply: Account,
  reads: ["accounts", "people"],
  looks: [accessOf, () => RELEASES],
  specGap:
    "The specification names the fields and not their shapes: company and person are objects, " +
    "billing is what the company pays from.",
  handle: async (ports, caller) => {
    const { companyId } = caller
    const stream = accessOf(companyId)
    const standing = await ports.runner.read(stream, companyStanding)
    if (standing === null) throw new Error(`a key of ${companyId} works before it is open`)
    const { channel, plan, pays } = standing
    const [name, balanceMicros, person, latest] = await Promise.all([
      ports.sealing.open(companyId, standing.name),
      ports.readAs(companyId, (db) => fundsOf(db, companyId)),
      personOf(ports, caller),
      ports.runner.read(RELEASES, (state) => latestVersion(state, channel)),
    ])
    const company = { id: companyId, name }
    return {
      ok: true,
      body: { company, plan, billing: pays, balanceMicros, person, latest, channel },
    }
  },
})

async function personOf(ports: Ports, { companyId, person }: Caller) {
  if (person === null) return null
  const { personId, role } = person
  const row = await ports.readAs(companyId, (db) => findPersonRow(db, companyId, personId))
  return { id: personId, name: row?.name ?? null, email: row?.email ?? null, role }
}
