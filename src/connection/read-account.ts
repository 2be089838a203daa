/** `GET /api/v1/account`: what an installed app shows of its company and of who uses it. */
import { accessOf } from "../../domain/access/aggregates.ts"
import { RELEASES } from "../../domain/connection/aggregates.ts"
import { z } from "zod"
import { companyStanding } from "../../domain/access/access.ts"
import { PLANS } from "../../domain/access/access-events.ts"
import { latestVersion } from "../../domain/connection/releases.ts"
import { fundsOf } from "../../projections/charging/accounts.ts"
import { findPersonRow } from "../../projections/access/people.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { idOf, micros, roleName } from "../frame/kernel/schema.ts"
import { channelName, latestName } from "./list-updates.ts"

const Account = z.object({
  company: z
    .object({ id: idOf("the company"), name: z.string().nullable().describe("Null once erased") })
    .describe("The key's company"),
  plan: z.enum(PLANS).describe("The plan that it is on"),
  billing: z.enum(["prepaid", "card"]).meta({ description: "What the company pays from" }),
  balanceMicros: micros.describe("The funds, millionths of a dollar"),
  person: z
    .object({
      id: idOf("the person"),
      name: z.string().nullable().describe("Null once it was erased"),
      email: z.string().nullable().describe("Null once it was erased"),
      role: roleName,
    })
    .nullable()
    .meta({ description: "Whose call it is; null for the shared key without a sign-in" }),
  latest: latestName,
  channel: channelName,
})

/** The route. */
export const readAccount = route({
  name: "readAccount",
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

async function personOf(ports: Pick<Ports, "readAs">, { companyId, person }: Caller) {
  if (person === null) return null
  const { personId, role } = person
  const row = await ports.readAs(companyId, (db) => findPersonRow(db, companyId, personId))
  return { id: personId, name: row?.name ?? null, email: row?.email ?? null, role }
}
