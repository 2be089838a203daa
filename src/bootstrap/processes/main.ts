/** Entry point of a worker process. */
import { once } from "node:events"
import { openLog } from "../../frame/kernel/log.ts"
import { listenForStop } from "../../frame/operator/cli/command-line-host.ts"
import { listSettings, readConfig } from "../settings/config.ts"
import type { WorkerMessage, SupervisorMessage } from "./connection-handoff.ts"
import { WorkerAssignment } from "./connection-handoff.ts"
import { runWorker } from "./worker.ts"

const { env } = process
const config = readConfig(env)
const log = openLog(config.logLevel)
// A terminal or service manager signals the whole group, so the supervisor decides when to stop.
const stopping = listenForStop(process, log.warn, [])
// Errors are ignored: if the supervisor has exited, this worker stops too.
const sendToSupervisor = (message: WorkerMessage) =>
  process.send?.(message, undefined, {}, () => undefined)

process.on("message", (message: SupervisorMessage) => {
  if (message.type === "stop") stopping.begin()
  if (message.type === "ping") sendToSupervisor({ type: "pong" })
})
// Without its supervisor a worker gets no connections and loses its database.
process.once("disconnect", stopping.begin)

async function main(): Promise<void> {
  const [message] = (await once(process, "message")) as [unknown]
  const assignment = WorkerAssignment.parse(message)
  sendToSupervisor({ type: "loaded" })

  try {
    process.exitCode = await runWorker({
      config,
      log,
      assignment,
      signal: stopping.signal,
      settings: listSettings(env),
      say: (line) => process.stdout.write(`${line}\n`),
      onMessage: (receive) =>
        process.on("message", receive as (message: unknown, socket: unknown) => void),
      onConnectionReceived: () => sendToSupervisor({ type: "received" }),
      onReady: () => sendToSupervisor({ type: "ready" }),
    })
  } catch (error) {
    process.exitCode = 1
    if (!stopping.signal.aborted) {
      const isSentence = error instanceof Error && error.name === "StartupFault"
      if (!isSentence) log.warn("this worker could not start", error)
      sendToSupervisor({
        type: "fault",
        sentence: error instanceof Error ? error.message : String(error),
      })
    }
  }
  if (stopping.isCrash()) process.exitCode = 1
  process.exit()
}

void main()
