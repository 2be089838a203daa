/** Looking at a sending domain's records, and recording what was seen. */
import { domainOf } from "../../domain/domains/aggregates.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import { domainView, sendingDomainOf } from "../../domain/domains/domain-views.ts"
import type { SendingDomain } from "../../domain/domains/domain-state.ts"
import type { SendingDomainId } from "../../domain/domains/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { lookAtRecords } from "./sending-records.ts"

/** A sending domain where it is. */
export interface SenderPlace {
  readonly companyId: CompanyId
  readonly domainId: DomainView["domainId"]
  readonly sendingDomainId: SendingDomainId
}

/**
 * Asks the world for the records of a sending domain, and records what it says.
 *
 * @returns how it stands now; null where there is none any more
 * @throws ProviderUnavailable, ProviderSilent
 */
export async function checkSender(
  ports: Pick<Ports, "resolver" | "runner" | "settings">,
  { companyId, domainId, sendingDomainId }: SenderPlace,
  cause: Cause,
) {
  const stream = domainOf(companyId, domainId)
  const known = await ports.runner.read(stream, sendingDomainOf(sendingDomainId))
  if (known === null) return null
  const seen = await lookAtRecords(ports, known.sendingDomain, known.domain.name)
  const command = { type: "CheckSendingDomain", sendingDomainId, ...seen } as const
  const said = await ports.runner.execute(stream, command, cause, domainView)
  const found = said.accepted ? senderIn(said.view, sendingDomainId) : null
  if (!said.accepted || found === null) return null
  return { sendingDomain: found, position: said.position }
}

/** The sending domain of an id in a domain; null where it is not there. */
function senderIn(domain: DomainView | null, id: SendingDomainId): Readonly<SendingDomain> | null {
  return domain?.sendingDomains.find((one) => one.sendingDomainId === id) ?? null
}
