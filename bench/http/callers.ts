/** Callers over HTTP, in a process of their own. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { honest } from "../benchmark.ts"
import type { Answers, Asking } from "./asking.ts"

/** Callers that wait for what they are to ask. */
export interface Callers {
  /** @throws what ended the callers' process, and the signal's reason once it is aborted */
  readonly ask: (asking: Asking) => Promise<Answers>
  readonly close: () => Promise<void>
}

/** Starts the callers' process. */
export function openCallers(signal: AbortSignal): Callers {
  const script = fileURLToPath(new URL("caller-process.ts", import.meta.url))
  // What this process was told of itself, such as to write a profile, is not for the other one.
  const child = fork(script, { execArgv: [] })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  return {
    ask: (asking) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted()
        const stop = () => reject(signal.reason as Error)
        signal.addEventListener("abort", stop, { once: true })
        void ended.then(() => reject(new Error("the callers' process ended")))
        child.once("message", (answers: Answers) => {
          signal.removeEventListener("abort", stop)
          resolve(answers)
        })
        child.send(asking)
      }),
    close: async () => {
      child.kill()
      await ended
    },
  }
}

/** Makes sure that nothing was answered but with these statuses. @throws Dishonest */
export function onlyStatuses({ statuses }: Answers, allowed: readonly number[]): void {
  const others = Object.entries(statuses).filter(([status]) => !allowed.includes(Number(status)))
  const told = others.map(([status, count]) => `${count} times ${status}`)
  honest(others.length === 0, `calls were answered ${told.join(", ")}`)
}
