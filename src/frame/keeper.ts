/** Daemons that do the same again and again. */
import type { Daemon } from "./daemon.ts"
import type { Ports } from "./ports.ts"

/** What is done again and again. */
export interface Kept {
  /** As `Daemon.what`. */
  readonly what: string
  /** The pause between the end of one time and the next, milliseconds. */
  readonly eachMs: number
  /** The warning where one time failed; the next one is tried all the same. */
  readonly fault: string
  /** Answers what is done each time, with what it remembers between them. */
  readonly begin: (ports: Ports) => () => Promise<void>
}

/** A daemon that does something at its start and after each pause. Its stop waits for what is under way. */
export function keeper({ what, eachMs, fault, begin }: Kept): Daemon {
  return {
    what,
    start: async (ports) => {
      const stopping = new AbortController()
      const once = begin(ports)
      const keep = async () => {
        while (!stopping.signal.aborted) {
          try {
            await once()
          } catch (error) {
            ports.log.warn(fault, error)
          }
          await ports.pacer.pause(eachMs, stopping.signal)
        }
      }
      const kept = keep()
      return {
        stop: async () => {
          stopping.abort()
          await kept
        },
      }
    },
  }
}
