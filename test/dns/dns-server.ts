/** A name server of ours in a test, and questions to it. */
import { spawnSync } from "node:child_process"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openNameServer } from "../../adapters/providers/dns/name-server.ts"
import { openServedZones } from "../../adapters/providers/dns/served-zones.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type { RecordType, Zone } from "../../domain/domains/dns-records.ts"

/** A record. */
export function zoneRecord(
  type: RecordType,
  name: string,
  content: string,
  priority: number | null = null,
): Zone["records"][number] {
  return { type, name, content, priority, ttl: 300 }
}

/** A zone with name servers of ours. */
export function zoneWith(apex: string, records: Zone["records"], serial = 1): Zone {
  const nameServers = ["ns1-61.ns.localhost", "ns2-61.ns.localhost"]
  return { apex, nameServers, serial, records }
}

/** Serves zones at a free port of the loopback. */
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

/** Asks with dig, and answers its lines. It must not run in the server's turn of the event loop. */
export async function dig(port: number, words: readonly string[]): Promise<string> {
  const { spawn } = await import("node:child_process")
  const shown = ["+noall", "+comments", "+answer", "+authority", "+additional"]
  const child = spawn("dig", ["@127.0.0.1", "-p", String(port), ...shown, ...words])
  let text = ""
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece))
  await new Promise((resolve) => child.once("close", resolve))
  return text
}

/** Why tests with a program cannot run here; null where they can. */
export function missingDnsProgramReason(program: string, word: string): string | null {
  const { error } = spawnSync(program, [word])
  return error === undefined ? null : `${program} is not installed here`
}
