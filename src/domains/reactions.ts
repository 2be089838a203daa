import { z } from "zod"
import { isProviderError } from "../../adapters/providers/provider-errors.ts"
import { domainStreamOf, DOMAIN_RESERVATIONS_STREAM } from "../../domain/domains/aggregates.ts"
import {
  viewOfDomain,
  connectedAt,
  domainNameOf,
  removalReasonOf,
  sendingDomainIdsOf,
  servedZoneOf,
} from "../../domain/domains/domain-views.ts"
import type { DomainId } from "../../domain/domains/domain-events.ts"
import { parseDomainId, parseSendingDomainId } from "../../domain/domains/domain-events.ts"
import type { ReactionJob } from "../frame/effects/reaction.ts"
import { AT_ANY_TIME, reaction } from "../frame/effects/reaction.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import { checkDelegation } from "./connect-domain.ts"
import { DOMAIN_LAPSE_MS } from "../../domain/domains/domain.ts"
import { retryWithBackoff } from "../frame/effects/effect-times.ts"
import { releaseReservation } from "./remove-domain.ts"
import { reservationCovering } from "../../domain/domains/domain-reservations.ts"
import { streamSuffixOf } from "../../domain/kernel/aggregate.ts"
import type { Ports } from "../frame/ports.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recheckSendingDomain } from "./sending-domains.ts"

const DAY_MS = 86_400_000
/** The retry interval while DNS does not answer, milliseconds. */
const RETRY_AFTER_MS = 3_600_000

/** Checks daily whether a connected domain still points here. */
export const checkDomainDaily = reaction({
  kind: "check-domain",
  payload: z.object({ domainId: idSchema(parseDomainId) }),
  on: {
    DomainConnected: ({ domainId, at }) => [
      { name: domainId, payload: { domainId }, dueAt: at + DAY_MS },
    ],
  },
  endOn: { DomainRemoved: ({ domainId }) => [domainId] },
  isDiscardedOnErasure: true,
  discard: "allowed",
  earliestRetryAt: AT_ANY_TIME,
  perform: async (ports, { companyId, name, payload: { domainId } }) => {
    const stream = domainStreamOf(companyId, domainId)
    const view = await ports.runner.readLatest(stream, viewOfDomain)
    if (view === null) return { result: "done" }
    const now = ports.clock.now()
    try {
      const command = await checkDelegation(ports, companyId, view)
      await ports.runner.execute(stream, command, causedBy(`check-domain ${name}`))
      return { result: "rescheduled", dueAt: now + DAY_MS }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return { result: "rescheduled", dueAt: now + RETRY_AFTER_MS }
    }
  },
})

/** Removes a domain that never points here, and releases its reservation. */
export const expireReservation = reaction({
  kind: "expire-domain",
  payload: z.object({ domainId: idSchema(parseDomainId) }),
  on: {
    DomainReserved: ({ domainId, companyId, at }) => [
      { name: domainId, companyId, payload: { domainId }, dueAt: at + DOMAIN_LAPSE_MS },
    ],
  },
  endOn: { DomainReleased: ({ domainId }) => [domainId] },
  discard: "never",
  perform: async (ports, work) => {
    const { runner, clock } = ports
    const { companyId, name, payload } = work
    const { domainId } = payload
    const cause = causedBy(`expire-domain ${name}`)
    const stream = domainStreamOf(companyId, domainId)
    const command = { type: "RemoveDomain", domainId, reason: "lapsed" } as const
    await runner.execute(stream, command, cause)
    const removal = await runner.read(stream, removalReasonOf)
    if (removal !== null) {
      const reservation = { domainId, name: await runner.read(stream, domainNameOf) }
      try {
        await releaseReservation(ports, reservation, removal, cause)
        return { result: "done" }
      } catch (error) {
        if (!isProviderError(error)) throw error
        return retryWithBackoff(work, error.message)
      }
    }
    // It points here or did once, or it was connected later than it was reserved and has time left.
    const view = await runner.read(stream, viewOfDomain)
    const since = await runner.read(stream, connectedAt)
    if (view?.status !== "waiting" || since === null) return { result: "done" }
    return { result: "rescheduled", dueAt: Math.max(since + DOMAIN_LAPSE_MS, clock.now()) }
  },
})

const Payload = z.object({ domainId: idSchema(parseDomainId) })

/** One job for each change. The jobs of a domain run in order, each with the current zone. */
function publishZoneJob(
  { at }: { readonly at: number },
  { stream, revision }: { readonly stream: string; readonly revision: number },
): readonly ReactionJob<z.infer<typeof Payload>>[] {
  const domainId = parseDomainId(streamSuffixOf(stream) ?? "")
  if (domainId === null) return []
  const name = `${domainId}:${revision}`
  return [{ name, subject: `zone ${domainId}`, payload: { domainId }, dueAt: at }]
}

/** Publishes a domain's zone after each change, and withdraws it after the domain's removal. */
export const publishZone = reaction({
  kind: "publish-zone",
  payload: Payload,
  on: {
    DomainConnected: publishZoneJob,
    RecordsCopied: publishZoneJob,
    DelegationSeen: publishZoneJob,
    RecordAdded: publishZoneJob,
    RecordUpdated: publishZoneJob,
    RecordRemoved: publishZoneJob,
    SendingDomainAdded: publishZoneJob,
    AppAddressSaved: publishZoneJob,
    DomainRemoved: publishZoneJob,
  },
  discard: "allowed",
  perform: async (ports, work) => {
    const { companyId, payload, name } = work
    try {
      await publish(ports, companyId, payload.domainId, name)
      return { result: "done" }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return retryWithBackoff(work, error.message)
    }
  },
})

async function publish(
  ports: Pick<Ports, "dkimKeys" | "nameServer" | "runner">,
  companyId: CompanyId,
  domainId: DomainId,
  name: string,
) {
  const stream = domainStreamOf(companyId, domainId)
  const { zone, removal, apex, senders } = await ports.runner.readLatest(stream, (state) => ({
    zone: servedZoneOf(state),
    removal: removalReasonOf(state),
    apex: domainNameOf(state),
    senders: sendingDomainIdsOf(state),
  }))
  if (zone !== null) await ports.nameServer.publish(zone)
  else if (apex !== null && (await isReserved(ports, apex, domainId))) {
    await ports.nameServer.withdraw(apex)
  }
  if (removal === null) return
  // The domain has ended, so its mails must not be signed any more.
  for (const sendingDomainId of senders) await ports.dkimKeys.remove({ companyId, sendingDomainId })
  const command = { type: "ReleaseDomain", domainId, reason: removal } as const
  await ports.runner.execute(DOMAIN_RESERVATIONS_STREAM, command, causedBy(`publish-zone ${name}`))
}

/** Whether the domain still has the reservation; otherwise the published zone may be another company's. */
async function isReserved(
  { runner }: Pick<Ports, "runner">,
  apex: string,
  domainId: DomainId,
): Promise<boolean> {
  const reservation = await runner.readLatest(DOMAIN_RESERVATIONS_STREAM, reservationCovering(apex))
  return reservation?.domainId === domainId
}

/** Resolvers cache the absence of a record for this time, milliseconds. */
const FIRST_CHECK_AFTER_MS = 5 * 60_000

export const checkSendingDomainDaily = reaction({
  kind: "check-sender",
  payload: z.object({
    domainId: idSchema(parseDomainId),
    sendingDomainId: idSchema(parseSendingDomainId),
  }),
  on: {
    SendingDomainAdded: ({ sendingDomainId, at }, { stream }) => {
      const domainId = parseDomainId(streamSuffixOf(stream) ?? "")
      if (domainId === null) return []
      const payload = { domainId, sendingDomainId }
      return [{ name: sendingDomainId, payload, dueAt: at + FIRST_CHECK_AFTER_MS }]
    },
  },
  isDiscardedOnErasure: true,
  discard: "allowed",
  earliestRetryAt: AT_ANY_TIME,
  perform: async (ports, { companyId, name, payload }) => {
    const now = ports.clock.now()
    try {
      const cause = causedBy(`check-sender ${name}`)
      const checked = await recheckSendingDomain(ports, { companyId, ...payload }, cause)
      return checked === null ? { result: "done" } : { result: "rescheduled", dueAt: now + DAY_MS }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return { result: "rescheduled", dueAt: now + RETRY_AFTER_MS }
    }
  },
})
