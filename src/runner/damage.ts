/**
 * Streams that were found not to be whole. No command is taken and no state shown of one, and the
 * operator is told once, not once a caller.
 */
import type { DamagedStream } from "../../adapters/eventstore/port.ts"
import type { Pacer } from "../../adapters/clock/port.ts"

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

/** Begins without any. `warn` is told when one is found, and when it is whole again. */
export function openDamages(
  pacer: Pick<Pacer, "elapsedMs">,
  warn: (message: string, error: unknown) => void,
): Damages {
  const known = new Map<string, { readonly fault: DamagedStream; readonly foundAt: number }>()
  return {
    note: (fault) => {
      const { stream } = fault.place
      if (known.get(stream)?.fault.message !== fault.message) {
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
      const found = known.get(stream)
      if (found === undefined || pacer.elapsedMs() - found.foundAt >= LOOK_AGAIN_MS) return null
      return found.fault
    },
    all: () => [...known.values()].map(({ fault }) => fault),
  }
}
