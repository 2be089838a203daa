/**
 * The corrupt streams of an installation as one process knows them: those it found itself, and those that other
 * processes found and have not released.
 */
import type {
  CorruptStreamEntry,
  CorruptStreams,
} from "../../../adapters/postgres/corrupt-streams/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyOfStream } from "../../../domain/kernel/aggregate.ts"
import type { Processes, ProcessNotifications } from "../../../adapters/postgres/leases/port.ts"
import type { HeldBackStreams } from "./stream-proof.ts"
import { randomUUID } from "node:crypto"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"

/** Channel for the end of a stream's release. */
const RELEASED_CHANNEL = "ledger_stream_released"
/** Channel for the start of a stream's release, which all other processes must confirm. */
const RELEASING_CHANNEL = "ledger_stream_shown"
/** The release fails if a process has not answered after this time. */
const ANSWER_TIMEOUT_MS = 5_000

/** A running process did not confirm a release: it may still hold back the stream. */
export class ReleaseUnconfirmed extends Error {
  override readonly name = "ReleaseUnconfirmed"
}

export interface CorruptList extends HeldBackStreams {
  /** All corrupt streams, by name. The revision of a stream is null during its release. */
  readonly all: () => readonly CorruptStreamEntry[]
  /** Stores new entries, so that a restart holds back the same streams. @throws the driver's error */
  readonly store: () => Promise<void>
  /** Finds a stream in the stored list, with its revision. @throws the driver's error */
  readonly find: (stream: string) => Promise<CorruptStreamEntry | null>
  /**
   * Releases a stream in every process. While `finish` processes its events, the stream shows them everywhere
   * but takes no commands; then it leaves the list. If `finish` throws or the process ends, the stream stays on
   * the list and the release can be repeated.
   *
   * @throws ReleaseUnconfirmed, the driver's error, and what `finish` throws
   */
  readonly release: (stream: string, finish: () => Promise<void>) => Promise<void>
}

/** What the list works with. */
interface CorruptListPorts extends ProcessQueryPorts {
  readonly processes: ProcessQueryPorts["processes"] & Pick<Processes, "isAlive">
}

/** Opens the list. @throws the driver's error */
export async function openCorruptList(
  stored: CorruptStreams,
  ports: CorruptListPorts,
): Promise<CorruptList> {
  const { processes, warn } = ports
  let known = new Map<string, CorruptStreamEntry>()
  const unsaved = new Map<string, CorruptStreamEntry>()
  const shown = new Set<string>()
  const load = async (): Promise<void> => {
    const all = [...(await stored.list()), ...unsaved.values()]
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
      await stored.add(found)
      unsaved.delete(stream)
    }
  }
  await processes.listen(RELEASED_CHANNEL, (stream) => {
    // Null means that a notification may have been missed.
    if (stream === null) shown.clear()
    else shown.delete(stream)
    load().catch((error: unknown) => warn("the list of corrupt streams could not be read", error))
  })
  const askOthers = await openProcessQueries(ports, RELEASING_CHANNEL, show)
  await load()
  return {
    get: (stream) => known.get(stream) ?? null,
    all: () => [...known.values()].toSorted((a, b) => (a.stream < b.stream ? -1 : 1)),
    holdBack: (found) => {
      if (known.has(found.stream)) return
      known.set(found.stream, found)
      unsaved.set(found.stream, found)
      warn(
        `${corruptStreamText(found)}. Its events are held back from there on; other streams are not affected`,
        null,
      )
    },
    store,
    find: async (stream) => {
      await store()
      return (await stored.list()).find((one) => one.stream === stream) ?? null
    },
    release: async (stream, finish) => {
      try {
        await show(stream)
        await requireAllAnswered(processes, await askOthers(stream, ANSWER_TIMEOUT_MS))
        await finish()
        await stored.remove(stream)
      } finally {
        shown.delete(stream)
        await load()
        await processes.notify(RELEASED_CHANNEL, stream)
      }
    },
  }
}

/** Ignores processes that have ended. @throws ReleaseUnconfirmed if a running process is silent */
async function requireAllAnswered(
  { isAlive }: Pick<Processes, "isAlive">,
  silent: ReadonlySet<string>,
): Promise<void> {
  for (const processId of silent) {
    if (await isAlive(processId)) throw new ReleaseUnconfirmed(processId)
  }
}

/** The corrupt streams of a company, or of all companies for null. */
export function corruptStreamsOf(
  { corruptList }: { readonly corruptList: Pick<CorruptList, "all"> },
  companyId: CompanyId | null,
): readonly CorruptStreamEntry[] {
  return corruptList
    .all()
    .filter(({ stream }) => companyId === null || companyOfStream(stream) === companyId)
}

/** Describes a corrupt stream for operators. */
export function corruptStreamText({ stream, revision, reason }: CorruptStreamEntry): string {
  const location = revision === null ? stream : `${stream} revision ${revision}`
  return `stream ${location} is corrupt: ${reason}`
}

/** What queries between processes work with. */
export interface ProcessQueryPorts {
  readonly processes: Pick<Processes, "ownId"> & ProcessNotifications
  readonly pacer: Pacer
  readonly warn: (message: string, error: unknown) => void
}

/**
 * Asks all other processes and resolves to the ids of those that have not answered in time.
 *
 * @throws the driver's error
 */
type QueryProcesses = (text: string, waitMs: number) => Promise<ReadonlySet<string>>

/**
 * Starts to answer queries of other processes. Questions and answers have separate channels.
 *
 * @param answer does what is asked; false if this process cannot, which leaves the question unanswered
 * @throws the driver's error
 */
export async function openProcessQueries(
  { processes, pacer, warn }: ProcessQueryPorts,
  name: string,
  answer: (text: string) => Promise<boolean>,
): Promise<QueryProcesses> {
  const asked = `${name}_asked`
  const waiting = new Map<string, (processId: string) => void>()
  await processes.listen(name, (text) => {
    const [question = "", processId = ""] = text?.split(" ") ?? []
    waiting.get(question)?.(processId)
  })
  await processes.listen(asked, (text) => {
    const [question = "", asker, ...words] = text?.split(" ") ?? []
    if (words.length === 0 || asker === processes.ownId) return
    const reply = async (): Promise<void> => {
      if (await answer(words.join(" ")))
        await processes.notify(name, `${question} ${processes.ownId}`)
    }
    reply().catch((error: unknown) =>
      warn("could not answer another process about corrupt streams", error),
    )
  })
  return async (text, waitMs) => {
    const others = new Set(await processes.listOtherProcesses())
    if (others.size === 0) return others
    const question = randomUUID()
    const late = new AbortController()
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.set(question, (processId) => {
      others.delete(processId)
      if (others.size === 0) resolve()
    })
    try {
      await processes.notify(asked, `${question} ${processes.ownId} ${text}`)
      await Promise.race([promise, pacer.pause(waitMs, late.signal)])
    } finally {
      waiting.delete(question)
      late.abort()
    }
    return others
  }
}
