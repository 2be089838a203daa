/** Making a name one that mail is sent from: its key, and its records in the zone that we serve. */
import { MESSAGES } from "../../domain/domains/domain-commands.ts"
import { MOST_SENDING_DOMAINS } from "../../domain/domains/domain.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import type { SendingDomain } from "../../domain/domains/domain-state.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { Told } from "./find-domain.ts"
import { tellDomain } from "./find-domain.ts"
import { recordsOf } from "./sending-records.ts"

/** The id of a name's sending domain: two who add it at once make one key. */
const idOfSender = (
  companyId: CompanyId,
  { domainId }: Pick<DomainView, "domainId">,
  name: string,
) => derivedId("sdom", companyId, domainId, name)

/** Adds a sending domain, unless the name is one already. */
export async function addSendingDomainTo(
  ports: Pick<Ports, "dkimKeys" | "runner" | "settings">,
  caller: Caller,
  domain: DomainView,
  name: string,
): Promise<Told> {
  const known = namedIn(domain, name)
  if (known !== null) return { view: domain, position: null }
  // A key takes a tenth of a second of a processor: none is made for a name that is refused anyway.
  if (domain.sendingDomains.length >= MOST_SENDING_DOMAINS) {
    return { refusal: refusal("conflict", MESSAGES.full) }
  }
  const { companyId } = caller
  const sendingDomainId = idOfSender(companyId, domain, name)
  const { selector, publicKey } = await ports.dkimKeys.create({ companyId, sendingDomainId })
  const key = { name, selector, publicKey }
  const records = recordsOf(ports, key)
  const command = { type: "AddSendingDomain", sendingDomainId, ...key, records } as const
  const told = await tellDomain(ports, caller, domain, command)
  if ("refusal" in told) await ports.dkimKeys.remove({ companyId, sendingDomainId })
  return told
}

/** The sending domain of exactly this name; null where there is none. */
export function namedIn(
  { sendingDomains }: DomainView,
  name: string,
): Readonly<SendingDomain> | null {
  return sendingDomains.find((one) => one.name === name) ?? null
}
