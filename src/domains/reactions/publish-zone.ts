/** The name server is told of every change of a zone; of one that is no more, and its claim ends with it. */
import { z } from "zod"
import { isOutside } from "../../../adapters/providers/outside.ts"
import { CLAIMS, domainOf } from "../../../domain/domains/aggregates.ts"
import { nameOf, removalOf, sendersOf, zoneOf } from "../../../domain/domains/domain-views.ts"
import { claimOver } from "../../../domain/domains/domains.ts"
import type { DomainId } from "../../../domain/domains/ids.ts"
import { parseDomainId } from "../../../domain/domains/ids.ts"
import { restOf } from "../../../domain/kernel/aggregate.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import type { FollowUp } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

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
