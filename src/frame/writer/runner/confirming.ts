/**
 * Saying to the runner, a few times a second, up to when all that was stored was heard: then nothing
 * in its memory is older than a second, and nobody reads the store to find that nothing is new.
 */
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { EventStore, Position } from "../../../../adapters/eventstore/port.ts"
import { Unavailable } from "../../../../adapters/eventstore/port.ts"
import type { Runner } from "./port.ts"

const EVERY_MS = 250

/** What confirming works with. */
export interface ConfirmingPorts {
  readonly store: Pick<EventStore, "head">
  readonly pacer: Pacer
  readonly runner: Pick<Runner, "confirmed">
  /**
   * True once the reader that the runner hears of events by has handed over everything up to a place;
   * false where the store is lost before.
   */
  readonly handedOver: (place: Position) => Promise<boolean>
  readonly warn: (message: string, error: unknown) => void
}

/** Running confirming. */
export interface Confirming {
  readonly stop: () => Promise<void>
}

/** Confirms until it is stopped. */
export function startConfirming(ports: ConfirmingPorts): Confirming {
  const { pacer, warn } = ports
  const stopping = new AbortController()
  const stopped = new Promise<false>((resolve) => {
    stopping.signal.addEventListener("abort", () => resolve(false))
  })
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await confirmOnce(ports, stopped)
      } catch (error) {
        // A store that is away is told of by whoever needs it.
        if (!(error instanceof Unavailable)) warn("what was heard could not be confirmed", error)
      }
      if (!stopping.signal.aborted) await pacer.pause(EVERY_MS, stopping.signal)
    }
  }
  const running = run()
  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

async function confirmOnce(
  { store, pacer, runner, handedOver }: ConfirmingPorts,
  stopped: Promise<false>,
): Promise<void> {
  const asOf = pacer.elapsedMs()
  // What was stored by now is at or before the head that is asked for from now on.
  const head = await store.head()
  if (await Promise.race([handedOver(head), stopped])) runner.confirmed(asOf)
}
