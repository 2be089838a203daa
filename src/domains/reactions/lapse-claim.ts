/** A claim that never pointed here ends after 14 days: names cannot be kept from their owners by it. */
import { z } from "zod"
import { isOutside } from "../../../adapters/providers/outside.ts"
import { domainOf } from "../../../domain/domains/aggregates.ts"
import { connectedAt, domainView, nameOf, removalOf } from "../../../domain/domains/domain-views.ts"
import { LAPSES_AFTER_MS } from "../../../domain/domains/domain.ts"
import { parseDomainId } from "../../../domain/domains/ids.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { releaseClaim } from "../remove-domain.ts"

/** The reaction. */
export const lapseClaim = reaction({
  kind: "expire-domain",
  payload: z.object({ domainId: idSchema(parseDomainId) }),
  from: {
    DomainReserved: ({ domainId, companyId, at }) => [
      { name: domainId, companyId, payload: { domainId }, dueAt: at + LAPSES_AFTER_MS },
    ],
  },
  until: { DomainReleased: ({ domainId }) => [domainId] },
  giveUp: "owed",
  perform: async (ports, work) => {
    const { runner, clock } = ports
    const { companyId, name, payload } = work
    const { domainId } = payload
    const cause = causedBy(`expire-domain ${name}`)
    const stream = domainOf(companyId, domainId)
    const command = { type: "RemoveDomain", domainId, reason: "lapsed" } as const
    await runner.execute(stream, command, cause)
    const removal = await runner.read(stream, removalOf)
    if (removal !== null) {
      const claim = { domainId, name: await runner.read(stream, nameOf) }
      try {
        await releaseClaim(ports, claim, removal, cause)
        return { result: "done" }
      } catch (error) {
        if (!isOutside(error)) throw error
        return retryLater(work, error.message)
      }
    }
    // It points here, or did; or it was connected a while after it was claimed, and has its time.
    const view = await runner.read(stream, domainView)
    const since = await runner.read(stream, connectedAt)
    if (view?.status !== "waiting" || since === null) return { result: "done" }
    return { result: "later", dueAt: Math.max(since + LAPSES_AFTER_MS, clock.now()) }
  },
})
