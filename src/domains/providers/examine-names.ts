/** What `doctor` says of whom we ask about names, and of who answers for ours. */
import { isOutside } from "../../../adapters/providers/outside.ts"
import { openPowerDns } from "../../../adapters/providers/dns/powerdns.ts"
import { openResolver } from "../../../adapters/providers/dns/resolver.ts"
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"
import { dnsSettings } from "./dns-settings.ts"

const CHECK = "names"
/** A name that every resolver of the world has an answer for. */
const KNOWN = "com"

/** Whether the resolver and PowerDNS answer; nothing of those that are not set. */
export async function examineNames({ settings, pacer }: Examined): Promise<readonly Finding[]> {
  const { DNS_RESOLVER: servers, POWERDNS_URL: url, POWERDNS_KEY: key } = settings(dnsSettings)
  const findings: Finding[] = []
  if (servers !== undefined) {
    const who = servers === "system" ? "the resolver of this machine" : `the resolver at ${servers}`
    const resolver = openResolver({ servers, pacer })
    findings.push(await found(who, "check DNS_RESOLVER", () => resolver.ask(KNOWN, "NS")))
  }
  if (url !== undefined && key !== undefined) {
    const fix = "check POWERDNS_URL, POWERDNS_KEY and that its API is on"
    const who = `PowerDNS at ${new URL(url).host}`
    const powerDns = openPowerDns({ url, key })
    findings.push(await found(who, fix, () => powerDns.look()))
  }
  return findings
}

async function found(who: string, fix: string, look: () => Promise<unknown>): Promise<Finding> {
  try {
    await look()
    return well(CHECK, `${who} answers`)
  } catch (error) {
    if (!isOutside(error)) throw error
    const says = `${who} does not answer: ${error.message}`
    return { check: CHECK, state: "wrong", says, fix }
  }
}
