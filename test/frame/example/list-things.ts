/** `GET /api/v1/things`: what a company ordered. */
import { z } from "zod"
import { isoTimeSchema } from "../../../src/frame/kernel/schema.ts"
import { route } from "../../../src/frame/routes/declare/route.ts"
import { ThingReply } from "./order-thing.ts"
import { selectThings } from "./things.ts"

const MAX_THINGS = 100

const Thing = ThingReply.extend({
  outcome: z.enum(["made", "refused", "unavailable"]).nullable().describe("Null while it is made"),
  orderedAt: isoTimeSchema.describe("When the company ordered it"),
}).meta({ id: "Thing", description: "A thing that a company ordered" })

/** Lists things, newest first. */
export const thingList = route({
  name: "listThings",
  method: "GET",
  url: "/api/v1/things",
  group: "things",
  summary: "List things",
  operation: "code.publish.preview",
  isCounted: true,
  reply: z.object({ things: z.array(Thing).describe(`The newest first, up to ${MAX_THINGS}`) }),
  readModels: ["things"],
  handle: async ({ readAs }, { companyId }) => {
    const rows = await readAs(companyId, (db) => selectThings(db, companyId, MAX_THINGS))
    const things = rows.map(({ thing_id: id, name, outcome, ordered_at }) => ({
      id,
      name,
      outcome,
      orderedAt: ordered_at.toISOString(),
    }))
    return { ok: true, body: { things } }
  },
})
