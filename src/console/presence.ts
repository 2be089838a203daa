/** Somebody looks at the console: a beat a minute, and no fact. */
import { z } from "zod"
import { openRoute } from "../frame/routes/declare/route.ts"
import { OTHER_SITE, SIGNED_OUT, whoAsks } from "./session.ts"
import { AT_COMPANY } from "./way.ts"

/** Notes that somebody is there. */
export const beat = openRoute({
  name: "beat",
  group: "console",
  method: "POST",
  url: `${AT_COMPANY}/presence`,
  summary: "Say that somebody looks at the console",
  params: z.object({ company: z.string() }),
  reply: z.object({ seenAt: z.string() }),
  refuses: [SIGNED_OUT, OTHER_SITE],
  handle: async (ports, { params, sent }) => {
    const who = await whoAsks(ports, { ...sent, method: "POST", params })
    if ("error" in who) return { ok: false, refusal: who }
    const seenAt = ports.clock.now()
    const sighting = { personId: who.personId, place: "dashboard" as const, seenAt }
    await ports.presence.seen(who.companyId, sighting)
    return { ok: true, body: { seenAt: new Date(seenAt).toISOString() } }
  },
})
