/** A process beside the benchmark's, on the same cores, that does what it is told and answers. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/** A process that waits for what it is to do. */
export interface Beside<Told extends object, Answer> {
  /** @throws what ended the process, and the signal's reason once it is aborted */
  readonly ask: (told: Told) => Promise<Answer>
  readonly close: () => Promise<void>
}

/** Starts one. Its script answers each message by one. */
export function openBeside<Told extends object, Answer>(
  script: URL,
  signal: AbortSignal,
): Beside<Told, Answer> {
  // What this process was told of itself, such as to write a profile, is not for the other one.
  const child = fork(fileURLToPath(script), { execArgv: [] })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  return {
    ask: (told) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted()
        const stop = () => reject(signal.reason as Error)
        signal.addEventListener("abort", stop, { once: true })
        void ended.then(() => reject(new Error("the process beside this one ended")))
        child.once("message", (answer: Answer) => {
          signal.removeEventListener("abort", stop)
          resolve(answer)
        })
        child.send(told)
      }),
    close: async () => {
      child.kill()
      await ended
    },
  }
}
