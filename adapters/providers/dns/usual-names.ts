/** The names that domains usually have records at: a zone that is not given as a whole is found by them. */
import type { AskedType } from "./port.ts"

/** What hosts have. A CNAME is seen in the answer to each of these. */
export const TYPES_OF_HOSTS = ["A", "AAAA", "MX", "TXT"] as const satisfies readonly AskedType[]
const APEX = [...TYPES_OF_HOSTS, "CAA"] as const
const PARTS = [...TYPES_OF_HOSTS, "NS"] as const

const HOSTS = [
  ...["www", "mail", "email", "webmail", "smtp", "imap", "pop", "pop3", "mx", "mx1", "mx2"],
  ...["autodiscover", "autoconfig", "lyncdiscover", "sip", "msoid", "enterpriseregistration"],
  ...["enterpriseenrollment", "ftp", "sftp", "cpanel", "webdisk", "whm", "ns1", "ns2", "vpn"],
  ...["remote", "m", "mobile", "cdn", "static", "assets", "img", "images", "media", "files"],
  ...["send", "bounce", "bounces", "em", "mg", "news", "newsletter", "links", "click", "track"],
]
/** Parts of a company's own, which other servers may answer for. */
const SITES = [
  ...["app", "api", "blog", "shop", "store", "help", "support", "docs", "status", "portal"],
  ...["admin", "dev", "staging", "test", "beta", "demo", "crm", "wiki", "git", "auth"],
]
const TEXTS = [
  ...["_dmarc", "_mta-sts", "_smtp._tls", "default._bimi", "_acme-challenge", "_github-challenge"],
  ...["google._domainkey", "default._domainkey", "selector1._domainkey", "selector2._domainkey"],
  ...["k1._domainkey", "k2._domainkey", "k3._domainkey", "s1._domainkey", "s2._domainkey"],
  ...["mail._domainkey", "dkim._domainkey", "smtp._domainkey", "mandrill._domainkey"],
  ...["pm._domainkey", "resend._domainkey", "zoho._domainkey", "protonmail._domainkey"],
  ...["protonmail2._domainkey", "protonmail3._domainkey", "fm1._domainkey", "fm2._domainkey"],
  ...["fm3._domainkey", "mxvault._domainkey", "everlytickey1._domainkey", "cm._domainkey"],
]
const SERVICES = [
  ...["_autodiscover._tcp", "_sip._tls", "_sip._tcp", "_sip._udp", "_sips._tcp"],
  ...["_sipfederationtls._tcp", "_xmpp-client._tcp", "_xmpp-server._tcp", "_imaps._tcp"],
  ...["_imap._tcp", "_submission._tcp", "_pop3s._tcp", "_caldavs._tcp", "_carddavs._tcp"],
  ...["_minecraft._tcp"],
]

/** Names, relative to the domain, `@` for itself, with what is asked for at each. */
export const USUAL_NAMES: readonly (readonly [string, readonly AskedType[]])[] = [
  ["@", APEX],
  ...HOSTS.map((name) => [name, TYPES_OF_HOSTS] as const),
  ...SITES.map((name) => [name, PARTS] as const),
  ...TEXTS.map((name) => [name, ["TXT"]] as const),
  ...SERVICES.map((name) => [name, ["SRV"]] as const),
]
