/**
 * One of several processes of this program on a machine, as its parent starts it. It listens to its parent
 * before it loads the program: where all are to stop by then it opens nothing.
 */
import { once } from "node:events"
import { setImmediate as oneTurn } from "node:timers/promises"
import { openLog } from "../../frame/kernel/log.ts"
import { listenForStop } from "../../frame/operator/cli/stopping.ts"
import type { FromProcess, ToProcess } from "./messages.ts"

// A terminal and a service manager signal the whole group: when to stop, the parent says.
const stopping = listenForStop(process, openLog("warn").warn, [])
// What a parent that has ended is told of is its own end.
const tell = (message: FromProcess) => process.send?.(message, undefined, {}, () => undefined)

process.on("message", (message: ToProcess) => {
  if (message.is === "stop") stopping.begin()
  if (message.is === "ask") tell({ is: "answer" })
})
// Nobody hands it anything any more, and its database ends, too.
process.once("disconnect", stopping.begin)
/** Nothing is open yet. */
const endAtOnce = () => process.exit()
stopping.signal.addEventListener("abort", endAtOnce)

const [[told], { takeSeat }] = await Promise.all([
  once(process, "message") as Promise<[unknown]>,
  import("./seated.ts"),
])
// Loading let nothing be heard.
await oneTurn()
stopping.signal.removeEventListener("abort", endAtOnce)
process.exitCode = await takeSeat(told, stopping, tell)
if (stopping.isCrash()) process.exitCode = 1
process.exit()
