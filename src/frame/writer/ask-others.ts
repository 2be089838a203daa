/** Asking the other processes of an installation, and waiting until they have answered. */
import { randomUUID } from "node:crypto"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import type { Calls, Processes } from "../../../adapters/postgres/leases/port.ts"

/** What asking works with. */
export interface AskPorts {
  readonly processes: Pick<Processes, "own"> & Calls
  readonly pacer: Pacer
  readonly warn: (message: string, error: unknown) => void
}

/**
 * Asks all other processes and resolves to those that have not answered in time, as their ids.
 *
 * @throws the driver's error where the database cannot be asked
 */
export type AskOthers = (text: string, waitMs: number) => Promise<ReadonlySet<string>>

/**
 * Begins to answer the others. Questions and answers are called out under two names.
 *
 * @param answer does what is asked; false where this process cannot, and then it gives no answer
 * @throws the driver's error where the database cannot be asked
 */
export async function openAsking(
  { processes, pacer, warn }: AskPorts,
  name: string,
  answer: (text: string) => Promise<boolean>,
): Promise<AskOthers> {
  const asked = `${name}_asked`
  const waiting = new Map<string, (processId: string) => void>()
  await processes.listen(name, (text) => {
    const [question = "", processId = ""] = text?.split(" ") ?? []
    waiting.get(question)?.(processId)
  })
  await processes.listen(asked, (text) => {
    const [question = "", asker, ...words] = text?.split(" ") ?? []
    if (words.length === 0 || asker === processes.own) return
    const reply = async (): Promise<void> => {
      if (await answer(words.join(" "))) await processes.call(name, `${question} ${processes.own}`)
    }
    reply().catch((error: unknown) => warn("another process could not be answered", error))
  })
  return async (text, waitMs) => {
    const others = new Set(await processes.others())
    if (others.size === 0) return others
    const question = randomUUID()
    const late = new AbortController()
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.set(question, (processId) => {
      others.delete(processId)
      if (others.size === 0) resolve()
    })
    try {
      await processes.call(asked, `${question} ${processes.own} ${text}`)
      await Promise.race([promise, pacer.pause(waitMs, late.signal)])
    } finally {
      waiting.delete(question)
      late.abort()
    }
    return others
  }
}
