/**
 * The corrupt streams of an installation, as one process knows them: what it found itself, and what the
 * others found before or released since.
 */
import type {
  CorruptStream,
  CorruptStreams,
} from "../../../adapters/postgres/corrupt-streams/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyOf } from "../../../domain/kernel/aggregate.ts"
import type { Processes, Calls } from "../../../adapters/postgres/leases/port.ts"
import type { Held } from "./stream-proof.ts"
import { randomUUID } from "node:crypto"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"

/** What the processes call out when a release of a stream ended. */
const RELEASED = "ledger_stream_released"
/** What the processes ask one another when the release of a stream begins. */
const SHOWN = "ledger_stream_shown"
/** A process that has not answered after so long, milliseconds, ends the release. */
const ANSWER_MS = 5_000

/** A process that runs does not answer: it may hold back what is released here. */
export class NotShownElsewhere extends Error {
  override readonly name = "NotShownElsewhere"
}

/** The list, and what is done with it. */
export interface CorruptList extends Held {
  /** All of them, by name. During its release the revision of a stream is null. */
  readonly all: () => readonly CorruptStream[]
  /** Stores what is held back, so that a restart holds back the same. @throws the driver's error */
  readonly store: () => Promise<void>
  /** Finds a stream in the stored list, with its revision. @throws the driver's error */
  readonly find: (stream: string) => Promise<CorruptStream | null>
  /**
   * Releases a stream in every process. It shows its events everywhere and still takes no command while
   * `finish` makes up for them, and goes off the list last. Where `finish` throws, or the process ends,
   * the stream stays on the list, and the release can be given again.
   *
   * @throws NotShownElsewhere, the driver's error, and what `finish` throws
   */
  readonly release: (stream: string, finish: () => Promise<void>) => Promise<void>
}

/** What the list works with. */
interface CorruptListPorts extends AskPorts {
  readonly processes: AskPorts["processes"] & Pick<Processes, "isAlive">
}

/** Opens the list. @throws the driver's error where the database cannot be asked */
export async function openCorruptList(
  kept: CorruptStreams,
  ports: CorruptListPorts,
): Promise<CorruptList> {
  const { processes, warn } = ports
  let known = new Map<string, CorruptStream>()
  const unsaved = new Map<string, CorruptStream>()
  const shown = new Set<string>()
  const load = async (): Promise<void> => {
    const all = [...(await kept.all()), ...unsaved.values()]
    known = new Map(
      all.map((one) => [one.stream, shown.has(one.stream) ? { ...one, revision: null } : one]),
    )
  }
  const show = async (stream: string): Promise<true> => {
    shown.add(stream)
    await load()
    return true
  }
  const store = async (): Promise<void> => {
    for (const [stream, found] of unsaved) {
      await kept.add(found)
      unsaved.delete(stream)
    }
  }
  await processes.listen(RELEASED, (stream) => {
    // Null: a call may have been missed.
    if (stream === null) shown.clear()
    else shown.delete(stream)
    load().catch((error: unknown) => warn("the list of corrupt streams could not be read", error))
  })
  const askOthers = await openAsking(ports, SHOWN, show)
  await load()
  return {
    of: (stream) => known.get(stream) ?? null,
    all: () => [...known.values()].toSorted((a, b) => (a.stream < b.stream ? -1 : 1)),
    hold: (found) => {
      if (known.has(found.stream)) return
      known.set(found.stream, found)
      unsaved.set(found.stream, found)
      warn(`${corruptText(found)}. It is held back from there on; all other streams go on`, null)
    },
    store,
    find: async (stream) => {
      await store()
      return (await kept.all()).find((one) => one.stream === stream) ?? null
    },
    release: async (stream, finish) => {
      try {
        await show(stream)
        await refuseSilent(processes, await askOthers(stream, ANSWER_MS))
        await finish()
        await kept.remove(stream)
      } finally {
        shown.delete(stream)
        await load()
        await processes.call(RELEASED, stream)
      }
    },
  }
}

/** Passes over the processes that have ended. @throws NotShownElsewhere where another one is silent */
async function refuseSilent(
  { isAlive }: Pick<Processes, "isAlive">,
  silent: ReadonlySet<string>,
): Promise<void> {
  for (const processId of silent) {
    if (await isAlive(processId)) throw new NotShownElsewhere(processId)
  }
}

/** The corrupt streams of a company; null for all there are. */
export function corruptOf(
  { corrupt }: { readonly corrupt: Pick<CorruptList, "all"> },
  companyId: CompanyId | null,
): readonly CorruptStream[] {
  return corrupt.all().filter(({ stream }) => companyId === null || companyOf(stream) === companyId)
}

/** What is wrong with a stream, and where, for operators. */
export function corruptText({ stream, revision, reason }: CorruptStream): string {
  const place = revision === null ? stream : `${stream} revision ${revision}`
  return `stream ${place} is corrupt: ${reason}`
}

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
type AskOthers = (text: string, waitMs: number) => Promise<ReadonlySet<string>>

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
