/** Whether each connected domain still points here, asked of the zone above it once a day. */
import { z } from "zod"
import { isOutside } from "../../adapters/providers/outside.ts"
import { domainOf, CLAIMS } from "../../domain/domains/aggregates.ts"
import {
  domainView,
  connectedAt,
  nameOf,
  removalOf,
  sendersOf,
  zoneOf,
} from "../../domain/domains/domain-views.ts"
import type { DomainId } from "../../domain/domains/domain-events.ts"
import { parseDomainId, parseSendingDomainId } from "../../domain/domains/domain-events.ts"
import type { FollowUp } from "../frame/effects/reaction.ts"
import { AT_ANY_TIME, reaction } from "../frame/effects/reaction.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import { lookAbove } from "./connect-domain.ts"
import { LAPSES_AFTER_MS } from "../../domain/domains/domain.ts"
import { retryLater } from "../frame/effects/ask-again.ts"
import { releaseClaim } from "./remove-domain.ts"
import { claimOver } from "../../domain/domains/domains.ts"
import { restOf } from "../../domain/kernel/aggregate.ts"
import type { Ports } from "../frame/ports.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { checkSender } from "./sending-domains.ts"

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

const Payload = z.object({ domainId: idSchema(parseDomainId) })

/** A row for each change; of one domain they are done in order, each with the zone as it is then. */
function changed(
  { at }: { readonly at: number },
  { stream, revision }: { readonly stream: string; readonly revision: number },
): readonly FollowUp<z.infer<typeof Payload>>[] {
  const domainId = parseDomainId(restOf(stream) ?? "")
  if (domainId === null) return []
  const name = `${domainId}:${revision}`
  return [{ name, subject: `zone ${domainId}`, payload: { domainId }, dueAt: at }]
}

/** The reaction. */
export const publishZone = reaction({
  kind: "publish-zone",
  payload: Payload,
  from: {
    DomainConnected: changed,
    RecordsCopied: changed,
    DelegationSeen: changed,
    RecordAdded: changed,
    RecordUpdated: changed,
    RecordRemoved: changed,
    SendingDomainAdded: changed,
    AppAddressSaved: changed,
    DomainRemoved: changed,
  },
  giveUp: "nothing is lost",
  perform: async (ports, work) => {
    const { companyId, payload, name } = work
    try {
      await publish(ports, companyId, payload.domainId, name)
      return { result: "done" }
    } catch (error) {
      if (!isOutside(error)) throw error
      return retryLater(work, error.message)
    }
  },
})

async function publish(
  ports: Pick<Ports, "dkimKeys" | "nameServer" | "runner">,
  companyId: CompanyId,
  domainId: DomainId,
  name: string,
) {
  const stream = domainOf(companyId, domainId)
  const { zone, removal, apex, senders } = await ports.runner.readLatest(stream, (state) => ({
    zone: zoneOf(state),
    removal: removalOf(state),
    apex: nameOf(state),
    senders: sendersOf(state),
  }))
  if (zone !== null) await ports.nameServer.publish(zone)
  else if (apex !== null && (await isClaimed(ports, apex, domainId))) {
    await ports.nameServer.withdraw(apex)
  }
  if (removal === null) return
  // However it ended, nothing signs for it any more.
  for (const sendingDomainId of senders) await ports.dkimKeys.remove({ companyId, sendingDomainId })
  const command = { type: "ReleaseDomain", domainId, reason: removal } as const
  await ports.runner.execute(CLAIMS, command, causedBy(`publish-zone ${name}`))
}

/** Whether a name is still this domain's: once it is another's, what is served there is theirs. */
async function isClaimed(
  { runner }: Pick<Ports, "runner">,
  apex: string,
  domainId: DomainId,
): Promise<boolean> {
  const claim = await runner.readLatest(CLAIMS, claimOver(apex))
  return claim?.domainId === domainId
}

/** Resolvers keep for so long that there was no such record, milliseconds. */
const FIRST_MS = 5 * 60_000

/** The reaction. */
export const checkSenderDaily = reaction({
  kind: "check-sender",
  payload: z.object({
    domainId: idSchema(parseDomainId),
    sendingDomainId: idSchema(parseSendingDomainId),
  }),
  from: {
    SendingDomainAdded: ({ sendingDomainId, at }, { stream }) => {
      const domainId = parseDomainId(restOf(stream) ?? "")
      if (domainId === null) return []
      const payload = { domainId, sendingDomainId }
      return [{ name: sendingDomainId, payload, dueAt: at + FIRST_MS }]
    },
  },
  endsWithCompany: true,
  giveUp: "nothing is lost",
  mayRunFrom: AT_ANY_TIME,
  perform: async (ports, { companyId, name, payload }) => {
    const now = ports.clock.now()
    try {
      const cause = causedBy(`check-sender ${name}`)
      const checked = await checkSender(ports, { companyId, ...payload }, cause)
      return checked === null ? { result: "done" } : { result: "later", dueAt: now + DAY_MS }
    } catch (error) {
      if (!isOutside(error)) throw error
      return { result: "later", dueAt: now + AGAIN_MS }
    }
  },
})
