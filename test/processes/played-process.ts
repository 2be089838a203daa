/** A process that does what a test says, and the clock that its parent goes by. */
import { EventEmitter } from "node:events"
import type { Pacer } from "../../adapters/clock/port.ts"
import type { FromProcess, ToProcess } from "../../src/compose/processes/messages.ts"

/** A clock that goes on when the test says so. */
export function openTestPacer() {
  let now = 0
  const waiting = new Set<{ readonly at: number; readonly over: () => void }>()
  const pacer: Pacer = {
    elapsedMs: () => now,
    pause: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve()
        const one = { at: now + ms, over: resolve }
        waiting.add(one)
        return signal?.addEventListener("abort", () => {
          waiting.delete(one)
          resolve()
        })
      }),
  }
  const pass = async (ms: number): Promise<void> => {
    const until = now + ms
    await settled()
    for (;;) {
      const [next] = [...waiting].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)
      if (next === undefined) break
      waiting.delete(next)
      now = next.at
      next.over()
      await settled()
    }
    now = until
    await settled()
  }
  return { pacer, pass }
}

/** Everything that follows at once has followed. */
export const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A process that does what a test says. */
export class PlayedProcess extends EventEmitter {
  readonly heard: ToProcess["is"][] = []
  readonly pid: number | undefined
  connected = true
  answers = true
  killedBy: NodeJS.Signals | null = null

  constructor(pid: number | undefined) {
    super()
    this.pid = pid
    this.connected = pid !== undefined
  }

  readonly send = (message: ToProcess): boolean => {
    this.heard.push(message.is)
    if (message.is === "ask" && this.answers) this.say({ is: "answer" })
    return true
  }
  readonly kill = (signal: NodeJS.Signals): boolean => {
    this.killedBy = signal
    this.ends(signal)
    return true
  }
  readonly say = (said: FromProcess) => void this.emit("message", said)
  readonly begin = (): void => {
    this.say({ is: "begun" })
    this.say({ is: "ready" })
  }
  readonly ends = (signal: NodeJS.Signals | null = null): void => {
    this.connected = false
    this.emit("exit", signal === null ? 0 : null, signal)
  }
}
