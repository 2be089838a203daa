/** Runs one of our name servers in a test, and queries it. */
import { spawnSync } from "node:child_process"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openNameServer } from "../../adapters/providers/dns/name-server.ts"
import { openServedZones } from "../../adapters/providers/dns/served-zones.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type { RecordType, Zone } from "../../domain/domains/dns-records.ts"

/** A record with the default TTL. */
export function zoneRecord(
  type: RecordType,
  name: string,
  content: string,
  priority: number | null = null,
): Zone["records"][number] {
  return { type, name, content, priority, ttl: 300 }
}

/** A zone that names two of our name servers. */
export function zoneWith(apex: string, records: Zone["records"], serial = 1): Zone {
  const nameServers = ["ns1-61.ns.localhost", "ns2-61.ns.localhost"]
  return { apex, nameServers, serial, records }
}

/** Serves zones on a free loopback port. */
export async function serveZones(zones: readonly Zone[], pacer: Pacer = machinePacer) {
  const faults: unknown[] = []
  const onError = (error: unknown) => faults.push(error)
  const served = openServedZones({
    pacer,
    onError,
    fixed: [],
    load: (apexes) =>
      Promise.resolve(apexes.map((apex) => zones.find((one) => one.apex === apex) ?? null)),
  })
  const server = await openNameServer({
    host: "127.0.0.1",
    port: 0,
    zones: served,
    pacer,
    onError,
  })
  return { ...server, served, faults, address: `127.0.0.1:${server.port}` }
}

/** Queries with dig and returns its output. It runs as a process, because the server shares this event loop. */
export async function dig(port: number, args: readonly string[]): Promise<string> {
  const { spawn } = await import("node:child_process")
  const sections = ["+noall", "+comments", "+answer", "+authority", "+additional"]
  const child = spawn("dig", ["@127.0.0.1", "-p", String(port), ...sections, ...args])
  let text = ""
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece))
  await new Promise((resolve) => child.once("close", resolve))
  return text
}

/** Why tests that need a program are skipped; null if it is installed. */
export function missingDnsProgramReason(program: string, option: string): string | null {
  const { error } = spawnSync(program, [option])
  return error === undefined ? null : `${program} is not installed here`
}
