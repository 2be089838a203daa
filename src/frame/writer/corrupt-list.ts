/**
 * The corrupt streams of an installation, as one process knows them: what it found itself, and what the
 * others found before or released since.
 */
import type { CorruptStream, CorruptStreams } from "../../../adapters/corrupt-streams/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyOf } from "../../../domain/kernel/streams.ts"
import type { Calls } from "../../../adapters/processes/port.ts"
import type { Held } from "./stream-proof.ts"

/** What the processes call out when a stream was released. */
const RELEASED = "ledger_stream_released"

/** The list, and what is done with it. */
export interface CorruptList extends Held {
  /** All of them, by name. */
  readonly all: () => readonly CorruptStream[]
  /** Stores what is held back, so that a restart holds back the same. @throws the driver's error */
  readonly store: () => Promise<void>
  /** Takes a stream off the list, in every process. @throws the driver's error */
  readonly release: (stream: string) => Promise<void>
}

/** Opens the list. @throws the driver's error where the database cannot be asked */
export async function openCorruptList(
  kept: CorruptStreams,
  calls: Pick<Calls, "listen" | "call">,
  warn: (message: string, error: unknown) => void,
): Promise<CorruptList> {
  let known = new Map<string, CorruptStream>()
  const unsaved = new Map<string, CorruptStream>()
  const load = async (): Promise<void> => {
    const all = [...(await kept.all()), ...unsaved.values()]
    known = new Map(all.map((one) => [one.stream, one]))
  }
  await calls.listen(RELEASED, () => {
    load().catch((error: unknown) => warn("the list of corrupt streams could not be read", error))
  })
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
    store: async () => {
      for (const [stream, found] of unsaved) {
        await kept.add(found)
        unsaved.delete(stream)
      }
    },
    release: async (stream) => {
      await kept.remove(stream)
      known.delete(stream)
      unsaved.delete(stream)
      await calls.call(RELEASED, stream)
    },
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
