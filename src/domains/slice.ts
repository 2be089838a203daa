/** Connected domains: their records, what sends mail under them, and the web addresses under them. */
import { CLAIMS, DOMAIN } from "../../domain/domains/aggregates.ts"
import { dnsRecords } from "../../projections/domains/dns-records.ts"
import { countDomains, domains as domainRows } from "../../projections/domains/domains.ts"
import { hostnames } from "../../projections/domains/hostnames.ts"
import { senders } from "../../projections/domains/senders.ts"
import { sendingDomains } from "../../projections/domains/sending-domains.ts"
import { oneOf } from "../frame/routes/declare/one-of.ts"
import type { Measure } from "../frame/http/metrics.ts"
import type { Slice } from "../frame/slice.ts"
import { appDoor, tlsAsk } from "./app-door.ts"
import { addRecord, removeRecord, updateRecord } from "./change-records.ts"
import { checkDomain, connectDomain } from "./connect-domain.ts"
import {
  sendingDomainList,
  SENDING_POST,
  addSendingDomain,
  checkSendingDomain,
} from "./sending-domains.ts"
import { domainOperations } from "./operate/domains.ts"
import { dnsProvider, nameServerProvider } from "./providers/dns.ts"
import { examineNames } from "./providers/examine-names.ts"
import { dnsSettings } from "./providers/dns-settings.ts"
import { hostnamesKeeper, hostnamesProvider } from "./providers/hostnames.ts"
import { checkDomainDaily, lapseClaim, publishZone, checkSenderDaily } from "./reactions.ts"
import { eraseDomains, saveAppAddress } from "./remove-domain.ts"
import { DOMAIN_POST, domainDetail, exportRecords } from "./find-domain.ts"
import { nameServerDaemon } from "./providers/name-server.ts"
import { domainsSettings } from "./settings.ts"

const domainMeasure: Measure = {
  name: "ledger_domains",
  help: "Connected domains by how they stand.",
  labels: ["status"],
  read: async ({ readAll }) =>
    (await countDomains(readAll)).map(({ status, count }) => ({
      labels: { status },
      value: count,
    })),
}

/** Companies' domains. */
export const domains: Slice = {
  name: "domains",
  streams: { ofCompanies: [DOMAIN], ofInstallation: [CLAIMS] },
  groups: {
    domains: `Connected domains: a domain stays where it is registered, and its DNS is served here.

Connect it, which copies the records that it has; look through them, for what has an unusual name is missed; have its
registrar name the \`nameServers\`; then check. Once it is \`live\`, its records are written here, mail can be sent from it,
and web addresses under it lead to the company's app. What a POST does, its body says.`,
  },
  routes: [
    sendingDomainList,
    oneOf("changeSendingDomains", SENDING_POST.url, [addSendingDomain, checkSendingDomain]),
    domainDetail,
    oneOf("changeDomain", DOMAIN_POST.url, [
      connectDomain,
      checkDomain,
      addRecord,
      updateRecord,
      removeRecord,
      exportRecords,
      saveAppAddress,
    ]),
  ],
  pages: [tlsAsk],
  doors: (ports) => [appDoor(ports)],
  readModels: [dnsRecords, domainRows, hostnames, senders, sendingDomains],
  reactions: [checkDomainDaily, checkSenderDaily, lapseClaim, publishZone],
  settings: [domainsSettings, dnsSettings],
  providers: [dnsProvider, nameServerProvider, hostnamesProvider],
  daemons: [nameServerDaemon, hostnamesKeeper],
  operations: domainOperations,
  topics: { domain: "companies' domains" },
  erase: eraseDomains,
  examine: examineNames,
  measures: [domainMeasure],
}
