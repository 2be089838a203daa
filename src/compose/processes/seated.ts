/** One of several processes, once it is told which of them it is. */
import { openLog } from "../../frame/kernel/log.ts"
import type { Stopping } from "../../frame/operator/cli/stopping.ts"
import { listSettings, readConfig } from "../config.ts"
import type { FromProcess } from "./messages.ts"
import { Seat } from "./messages.ts"
import { runProcess } from "./process.ts"

/** Runs it until it is to stop; answers the exit code. What keeps it from serving is told to its parent. */
export async function takeSeat(
  told: unknown,
  { signal }: Stopping,
  tell: (message: FromProcess) => void,
): Promise<number> {
  const { env } = process
  const config = readConfig(env)
  const log = openLog(config.logLevel)
  try {
    return await runProcess({
      ...{ config, log, signal, seat: Seat.parse(told), settings: listSettings(env) },
      say: (line) => process.stdout.write(`${line}\n`),
      onMessage: (take) =>
        process.on("message", take as (message: unknown, socket: unknown) => void),
      onTaken: () => tell({ is: "taken" }),
      onServing: () => tell({ is: "ready" }),
    })
  } catch (error) {
    if (signal.aborted) return 1
    const isSentence = error instanceof Error && error.name === "StartupFault"
    if (!isSentence) log.warn("this process could not begin to serve", error)
    tell({ is: "fault", sentence: error instanceof Error ? error.message : String(error) })
    return 1
  }
}
