/** Whether each connected domain still points here, asked of the zone above it once a day. */
import { z } from "zod"
import { isOutside } from "../../../adapters/providers/outside.ts"
import { domainOf } from "../../../domain/domains/aggregates.ts"
import { domainView } from "../../../domain/domains/domain-views.ts"
import { parseDomainId } from "../../../domain/domains/ids.ts"
import { AT_ANY_TIME, reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { lookAbove } from "../check-domain.ts"

const DAY_MS = 86_400_000
/** Where the domain name system does not answer, it is asked again after this, milliseconds. */
const AGAIN_MS = 3_600_000

/** The reaction. */
export const checkDomainDaily = reaction({
  kind: "check-domain",
  payload: z.object({ domainId: idSchema(parseDomainId) }),
  from: {
    DomainConnected: ({ domainId, at }) => [
      { name: domainId, payload: { domainId }, dueAt: at + DAY_MS },
    ],
  },
  until: { DomainRemoved: ({ domainId }) => [domainId] },
  endsWithCompany: true,
  giveUp: "nothing is lost",
  mayRunFrom: AT_ANY_TIME,
  perform: async (ports, { companyId, name, payload: { domainId } }) => {
    const stream = domainOf(companyId, domainId)
    const view = await ports.runner.readLatest(stream, domainView)
    if (view === null) return { result: "done" }
    const now = ports.clock.now()
    try {
      const command = await lookAbove(ports, companyId, view)
      await ports.runner.execute(stream, command, causedBy(`check-domain ${name}`))
      return { result: "later", dueAt: now + DAY_MS }
    } catch (error) {
      if (!isOutside(error)) throw error
      return { result: "later", dueAt: now + AGAIN_MS }
    }
  },
})
