/** What a server begins beside its API: what slices run, operators' commands, and what it says of itself. */
import { dirname } from "node:path"
import type { DataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import {
  writeRunningServer,
  removeRunningServer,
} from "../../../adapters/machine/data-folder/data-folder.ts"
import { withStartupFaults } from "../../../adapters/machine/startup/port.ts"
import type { ListeningAddress } from "../../frame/daemon.ts"
import { startDaemons } from "../../frame/daemon.ts"
import { DOCS_URL } from "../../frame/http/documents/documents.ts"
import { serveOperatorSocket } from "../../frame/http/operator-app.ts"
import { maskEventStoreAddress } from "../../frame/kernel/event-store-address.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import type { ShownSetting } from "../../frame/operator/protocol.ts"
import type { Log } from "../../frame/kernel/log.ts"
import { PROGRAM } from "../../slices.ts"
import type { NamedCloser } from "../open/closers.ts"
import type { Config } from "../settings/config.ts"
import { createDemo, nextKeyLines } from "../demo/create-demo.ts"
import { programCommandLine } from "../settings/simulated.ts"

/** What it begins with. */
export interface SideServerOptions {
  readonly config: Config
  /** The same as it is shown. */
  readonly settings: readonly ShownSetting[]
  readonly demo: boolean
  /** Whether the demo's week was played, just now. */
  readonly isSeeded: boolean
  readonly log: Log
  /** Writes a line for people to standard output. */
  readonly say: (line: string) => void
  /** Where it listens. */
  readonly url: string
  /** How many processes serve there; default this one alone. */
  readonly processes?: number
  /** Who is to be told to stop. */
  readonly pid: number
  readonly onAnnounced?: () => Promise<void>
}

/**
 * Begins all of it. What is to be closed again goes to `closers`.
 *
 * @throws StartupFault where something cannot begin
 */
export async function startSideServers(
  beside: SideServerOptions,
  { ports, folder }: { readonly ports: AdminPorts; readonly folder: DataFolder },
  closers: NamedCloser[],
): Promise<void> {
  const { config, settings, demo, isSeeded, log, say, url, pid } = beside
  const listening = await startDaemons(PROGRAM.daemons, ports, (closer) => closers.push(closer))
  const { socketPath, folderId } = folder
  const closeOperators = await withStartupFaults(dirname(socketPath), () =>
    serveOperatorSocket({
      socketPath,
      ports,
      operations: PROGRAM.operations,
      topics: PROGRAM.topics,
      identity: { folderId, pid: process.pid, settings },
      logRequests: config.logSampleRate,
      onFault: (error) => log.warn("an operator's command failed", error),
    }),
  )
  closers.push({ what: "operators' commands in hand", close: closeOperators })
  const others = Object.fromEntries(listening.map(({ name, address }) => [name, address]))
  await writeRunningServer(folder, { pid, url, socketPath, folderId, beside: others })
  closers.push({
    what: "the announcement of this server",
    close: () => removeRunningServer(folder),
  })
  log.info("listening", { url, pid })
  await beside.onAnnounced?.()
  for (const line of startupLines(beside, folder.path, listening)) say(line)
  const programCommand = programCommandLine(config.dataDir)
  const more = demo
    ? await createDemo(ports, { url, programCommand, isSeeded })
    : await nextKeyLines(ports, programCommand)
  for (const line of more) say(line)
}

/** What is said of where everything is. */
function startupLines(
  {
    config: { simulatedProviders: simulated, eventStoreUrl },
    url,
    processes = 1,
  }: SideServerOptions,
  path: string,
  listening: readonly ListeningAddress[],
): readonly string[] {
  const { names } = simulated
  const those = `  simulated    ${names.join(", ")}: nothing leaves this machine by them`
  const several = `  processes    ${processes}: /metrics?process=1 to ${processes} tell of each`
  return [
    `company-ledger listens on ${url}`,
    `  docs         ${url}${DOCS_URL}`,
    `  console      ${url}/console`,
    `  data folder  ${path}`,
    ...(processes > 1 ? [several] : []),
    ...listening.map(({ name, address }) => `  ${name.padEnd(13)}${address}`),
    ...(names.length > 0 ? [those] : []),
    ...(eventStoreUrl === null ? [] : [`  event store  ${maskEventStoreAddress(eventStoreUrl)}`]),
  ]
}
