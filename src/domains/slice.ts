import { DOMAIN_RESERVATIONS_STREAM, DOMAIN_AGGREGATE } from "../../domain/domains/aggregates.ts"
import { dnsRecordsReadModel } from "../../projections/domains/dns-records.ts"
import { countDomains, domainsReadModel as domainRows } from "../../projections/domains/domains.ts"
import { hostnamesReadModel } from "../../projections/domains/hostnames.ts"
import { sendersReadModel } from "../../projections/domains/senders.ts"
import { sendingDomainsReadModel } from "../../projections/domains/sending-domains.ts"
import { routeVariants } from "../frame/routes/declare/route-variants.ts"
import type { Metric } from "../frame/http/metrics.ts"
import type { Slice } from "../frame/slice.ts"
import { appHostRoute, askForCertificate } from "./app-host-route.ts"
import { addRecord, removeRecord, updateRecord } from "./change-records.ts"
import { checkDomain, connectDomain } from "./connect-domain.ts"
import {
  sendingDomainList,
  SENDING_DOMAIN_POST_ROUTE,
  addSendingDomain,
  checkSendingDomain,
} from "./sending-domains.ts"
import { domainOperations } from "./operate/domains.ts"
import { dnsProvider, nameServerProvider } from "./providers/dns.ts"
import { examineDns } from "./providers/examine-dns.ts"
import { dnsSettings } from "./providers/dns-settings.ts"
import { hostnamesRefresher, hostnamesProvider } from "./providers/hostnames.ts"
import {
  checkDomainDaily,
  expireReservation,
  publishZone,
  checkSendingDomainDaily,
} from "./reactions.ts"
import { eraseDomains, saveAppAddress } from "./remove-domain.ts"
import { DOMAIN_POST_ROUTE, getDomain, exportRecords } from "./domain-requests.ts"
import { nameServerDaemon } from "./providers/name-server.ts"
import { domainsSettings } from "./settings.ts"

const domainMetric: Metric = {
  name: "ledger_domains",
  help: "Connected domains by status.",
  labels: ["status"],
  read: async ({ readAll }) =>
    (await countDomains(readAll)).map(({ status, count }) => ({
      labels: { status },
      value: count,
    })),
}

/** Connected domains: DNS records, sending domains and web addresses. */
export const domainsSlice: Slice = {
  name: "domains",
  streams: { perCompany: [DOMAIN_AGGREGATE], perInstallation: [DOMAIN_RESERVATIONS_STREAM] },
  groups: {
    domains: `Connected domains: a domain stays at its registrar, and its DNS is served here.

Connect the domain, which copies its records. Check the copy, because records with unusual names are missed. Set the
\`nameServers\` at the registrar, then check. Once the domain is \`live\`, its records are edited here, it can send email,
and web addresses under it point to the company's app. The body of a POST selects its action.`,
  },
  routes: [
    sendingDomainList,
    routeVariants("changeSendingDomains", SENDING_DOMAIN_POST_ROUTE.url, [
      addSendingDomain,
      checkSendingDomain,
    ]),
    getDomain,
    routeVariants("changeDomain", DOMAIN_POST_ROUTE.url, [
      connectDomain,
      checkDomain,
      addRecord,
      updateRecord,
      removeRecord,
      exportRecords,
      saveAppAddress,
    ]),
  ],
  pages: [askForCertificate],
  hostRoutes: (ports) => [appHostRoute(ports)],
  readModels: [
    dnsRecordsReadModel,
    domainRows,
    hostnamesReadModel,
    sendersReadModel,
    sendingDomainsReadModel,
  ],
  reactions: [checkDomainDaily, checkSendingDomainDaily, expireReservation, publishZone],
  settings: [domainsSettings, dnsSettings],
  providers: [dnsProvider, nameServerProvider, hostnamesProvider],
  daemons: [nameServerDaemon, hostnamesRefresher],
  commands: domainOperations,
  topics: { domain: "companies' domains" },
  erase: eraseDomains,
  doctorCheck: examineDns,
  metrics: [domainMetric],
}
