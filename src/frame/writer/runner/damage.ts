/**
 * Streams that were found not to be whole. No command is taken and no state shown of one, and the
 * operator is told once, not once a caller.
 */
import type { CorruptStream } from "../../../../adapters/postgres/corrupt-streams/port.ts"
import { DamagedStream } from "../../../../adapters/eventstore/port.ts"
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { CorruptList } from "../corrupt-list.ts"

/** A stream that was found damaged is not read again for so long: its damage may lie behind a million facts. */
const LOOK_AGAIN_MS = 10_000

/** The damaged streams that a process knows of. */
export interface Damages {
  /** Takes note of one. */
  readonly note: (fault: DamagedStream) => void
  /** Takes note that a stream was read whole. */
  readonly clear: (stream: string) => void
  /** What is wrong with a stream, as long as that is known without another look; null where nothing is. */
  readonly of: (stream: string) => DamagedStream | null
  /** All of them. */
  readonly all: () => readonly DamagedStream[]
}

/** What they work with. */
export interface DamagePorts {
  /** The streams that are held back in every process. */
  readonly corrupt?: Pick<CorruptList, "of" | "all">
  readonly pacer: Pacer
  /** Told when one is found, and when it is whole again. */
  readonly warn: (message: string, error: unknown) => void
  /** Reads a stream again; what it finds is noted, or cleared. */
  readonly lookAgain: (stream: string) => Promise<unknown>
  /** Ends looking again. */
  readonly stopping: AbortSignal
}

/** Begins without any. Those that are found are looked at again every ten seconds. */
export function openDamages(ports: DamagePorts): Damages {
  const { corrupt, pacer, warn, lookAgain, stopping } = ports
  const known = new Map<string, { readonly fault: DamagedStream; readonly foundAt: number }>()
  const watch = async (stream: string): Promise<void> => {
    for (;;) {
      await pacer.pause(LOOK_AGAIN_MS, stopping)
      if (stopping.aborted || !known.has(stream)) return
      // Whatever it finds is noted where it is found.
      await lookAgain(stream).catch(() => undefined)
    }
  }
  return {
    note: (fault) => {
      const { stream } = fault.place
      if (!known.has(stream)) {
        void watch(stream)
        const message =
          `stream ${stream} is damaged: it takes no command and shows no state until what is missing ` +
          "is restored from a backup (audit verify names the first broken place)"
        warn(message, fault)
      }
      known.set(stream, { fault, foundAt: pacer.elapsedMs() })
    },
    clear: (stream) => {
      if (known.delete(stream)) warn(`stream ${stream} is whole again`, null)
    },
    of: (stream) => {
      const held = corrupt?.of(stream) ?? null
      if (held !== null) return asDamaged(held)
      const found = known.get(stream)
      if (found === undefined || pacer.elapsedMs() - found.foundAt >= LOOK_AGAIN_MS) return null
      return found.fault
    },
    all: () => {
      const held = (corrupt?.all() ?? []).map(asDamaged)
      const others = [...known.values()].map(({ fault }) => fault)
      return [
        ...held,
        ...others.filter(({ place }) => (corrupt?.of(place.stream) ?? null) === null),
      ]
    },
  }
}

function asDamaged({ stream, revision, reason }: CorruptStream): DamagedStream {
  return new DamagedStream({ stream, revision: revision ?? 0, expected: "a fact", found: reason })
}
