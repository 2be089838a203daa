/**
 * Starts everything next to the API: the slices' daemons, the operator socket and the announcement.
 */
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

export interface SideServerOptions {
  readonly config: Config
  /** The settings in the form they are shown. */
  readonly settings: readonly ShownSetting[]
  readonly demo: boolean
  /** Whether the demo week was seeded at this start. */
  readonly isSeeded: boolean
  readonly log: Log
  /** Writes a line for people to standard output. */
  readonly say: (line: string) => void
  readonly url: string
  /** Number of processes that serve; default 1. */
  readonly processes?: number
  /** The process that receives a stop signal. */
  readonly pid: number
  readonly onAnnounced?: () => Promise<void>
}

/**
 * Starts the side servers and adds their closers to `closers`.
 *
 * @throws StartupFault if one cannot start
 */
export async function startSideServers(
  options: SideServerOptions,
  { ports, folder }: { readonly ports: AdminPorts; readonly folder: DataFolder },
  closers: NamedCloser[],
): Promise<void> {
  const { config, settings, demo, isSeeded, log, say, url, pid } = options
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
  closers.push({ what: "operators' commands in progress", close: closeOperators })
  const sideServers = Object.fromEntries(listening.map(({ name, address }) => [name, address]))
  await writeRunningServer(folder, { pid, url, socketPath, folderId, sideServers })
  closers.push({
    what: "server.json",
    close: () => removeRunningServer(folder),
  })
  log.info("listening", { url, pid })
  await options.onAnnounced?.()
  for (const line of startupLines(options, folder.path, listening)) say(line)
  const programCommand = programCommandLine(config.dataDir)
  const more = demo
    ? await createDemo(ports, { url, programCommand, isSeeded })
    : await nextKeyLines(ports, programCommand)
  for (const line of more) say(line)
}

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
  const simulatedLine = `  simulated    ${names.join(", ")}: nothing leaves this machine`
  const processesLine = `  processes    ${processes}: see each at /metrics?process=1 to ${processes}`
  return [
    `company-ledger listens on ${url}`,
    `  docs         ${url}${DOCS_URL}`,
    `  console      ${url}/console`,
    `  data folder  ${path}`,
    ...(processes > 1 ? [processesLine] : []),
    ...listening.map(({ name, address }) => `  ${name.padEnd(13)}${address}`),
    ...(names.length > 0 ? [simulatedLine] : []),
    ...(eventStoreUrl === null ? [] : [`  event store  ${maskEventStoreAddress(eventStoreUrl)}`]),
  ]
}
