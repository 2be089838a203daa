/** One of several processes of this program on a machine, as its parent starts it. */
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
// A terminal and a service manager signal the whole group: when to stop, the parent says.
const stopping = listenForStop(process, log.warn, [])
// What a parent that has ended is told of is its own end.
const sendToSupervisor = (message: WorkerMessage) =>
  process.send?.(message, undefined, {}, () => undefined)

process.on("message", (message: SupervisorMessage) => {
  if (message.is === "stop") stopping.begin()
  if (message.is === "ask") sendToSupervisor({ is: "answer" })
})
// Nobody hands it anything any more, and its database ends, too.
process.once("disconnect", stopping.begin)

async function main(): Promise<void> {
  const [told] = (await once(process, "message")) as [unknown]
  const assignment = WorkerAssignment.parse(told)
  sendToSupervisor({ is: "begun" })

  try {
    process.exitCode = await runWorker({
      config,
      log,
      assignment,
      signal: stopping.signal,
      settings: listSettings(env),
      say: (line) => process.stdout.write(`${line}\n`),
      onMessage: (take) =>
        process.on("message", take as (message: unknown, socket: unknown) => void),
      onConnectionReceived: () => sendToSupervisor({ is: "taken" }),
      onReady: () => sendToSupervisor({ is: "ready" }),
    })
  } catch (error) {
    process.exitCode = 1
    if (!stopping.signal.aborted) {
      const isSentence = error instanceof Error && error.name === "StartupFault"
      if (!isSentence) log.warn("this process could not begin to serve", error)
      sendToSupervisor({
        is: "fault",
        sentence: error instanceof Error ? error.message : String(error),
      })
    }
  }
  if (stopping.isCrash()) process.exitCode = 1
  process.exit()
}

void main()
