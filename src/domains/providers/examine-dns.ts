import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import { openPowerDns } from "../../../adapters/providers/dns/powerdns.ts"
import { openResolver } from "../../../adapters/providers/dns/resolver.ts"
import type { DoctorContext, DoctorFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { dnsSettings } from "./dns-settings.ts"

const CHECK = "names"
/** A name that every public resolver can answer. */
const PROBE_NAME = "com"

/** Checks that the configured resolver and PowerDNS answer. */
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
    const fix = "check POWERDNS_URL and POWERDNS_KEY, and that its API is enabled"
    const who = `PowerDNS at ${new URL(url).host}`
    const powerDns = openPowerDns({ url, key })
    findings.push(await findingFor(who, fix, () => powerDns.checkConnection()))
  }
  return findings
}

async function findingFor(
  who: string,
  fix: string,
  query: () => Promise<unknown>,
): Promise<DoctorFinding> {
  try {
    await query()
    return okFinding(CHECK, `${who} answers`)
  } catch (error) {
    if (!isProviderError(error)) throw error
    const says = `${who} does not answer: ${error.message}`
    return { check: CHECK, state: "wrong", says, fix }
  }
}
