/** What `doctor` says of whom we ask about names, and of who answers for ours. */
import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import { openPowerDns } from "../../../adapters/providers/dns/powerdns.ts"
import { openResolver } from "../../../adapters/providers/dns/resolver.ts"
import type { DoctorContext, DoctorFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { dnsSettings } from "./dns-settings.ts"

const CHECK = "names"
/** A name that every resolver of the world has an answer for. */
const PROBE_NAME = "com"

/** Whether the resolver and PowerDNS answer; nothing of those that are not set. */
export async function examineDns({
  settings,
  pacer,
}: DoctorContext): Promise<readonly DoctorFinding[]> {
  const { DNS_RESOLVER: servers, POWERDNS_URL: url, POWERDNS_KEY: key } = settings(dnsSettings)
  const findings: DoctorFinding[] = []
  if (servers !== undefined) {
    const who = servers === "system" ? "the resolver of this machine" : `the resolver at ${servers}`
    const resolver = openResolver({ servers, pacer })
    findings.push(
      await findingFor(who, "check DNS_RESOLVER", () => resolver.query(PROBE_NAME, "NS")),
    )
  }
  if (url !== undefined && key !== undefined) {
    const fix = "check POWERDNS_URL, POWERDNS_KEY and that its API is on"
    const who = `PowerDNS at ${new URL(url).host}`
    const powerDns = openPowerDns({ url, key })
    findings.push(await findingFor(who, fix, () => powerDns.checkConnection()))
  }
  return findings
}

async function findingFor(
  who: string,
  fix: string,
  look: () => Promise<unknown>,
): Promise<DoctorFinding> {
  try {
    await look()
    return okFinding(CHECK, `${who} answers`)
  } catch (error) {
    if (!isProviderError(error)) throw error
    const says = `${who} does not answer: ${error.message}`
    return { check: CHECK, state: "wrong", says, fix }
  }
}
