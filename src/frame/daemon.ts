/** What a slice runs beside the API for as long as the server runs: a DNS server, a listener for mail. */
import type { Ports } from "./ports.ts"

/** Something that runs. */
export interface Daemon {
  /** As a sentence calls it that could not be stopped: `the DNS server`. */
  readonly displayName: string
  /** Begins, and answers how it ends. @throws StartupFault where it cannot begin, with what to do */
  readonly start: (ports: Ports) => Promise<RunningDaemon>
}

/** One that began. */
interface RunningDaemon {
  readonly stop: () => Promise<void>
  /** Where it can be reached, where it listens: this is told at the start, and in `server.json`. */
  readonly listeningAddress?: ListeningAddress
}

/** Where something can be reached beside the API. */
export interface ListeningAddress {
  /** A short word: `dns`. */
  readonly name: string
  /** Such as `127.0.0.1:5353`. */
  readonly address: string
}

/**
 * Starts daemons one after the other, each told to `onStarted` as something to be closed: so where one
 * cannot begin, those before it are ended.
 *
 * @returns where they can be reached
 * @throws StartupFault where one cannot begin
 */
export async function startDaemons(
  daemons: readonly Daemon[],
  ports: Ports,
  onStarted: (closer: { readonly what: string; readonly close: () => Promise<void> }) => void,
): Promise<readonly ListeningAddress[]> {
  const listening: ListeningAddress[] = []
  for (const { displayName, start } of daemons) {
    const { stop, listeningAddress } = await start(ports)
    onStarted({ what: displayName, close: stop })
    if (listeningAddress !== undefined) listening.push(listeningAddress)
  }
  return listening
}

/** What is done again and again. */
interface PeriodicTask {
  /** As `Daemon.what`. */
  readonly displayName: string
  /** The pause between the end of one time and the next, milliseconds. */
  readonly intervalMs: number
  /** The warning where one time failed; the next one is tried all the same. */
  readonly failureMessage: string
  /** Answers what is done each time, with what it remembers between them. */
  readonly createTask: (ports: Ports) => () => Promise<void>
}

/** A daemon that does something at its start and after each pause. Its stop waits for what is under way. */
export function periodicDaemon({
  displayName,
  intervalMs,
  failureMessage,
  createTask,
}: PeriodicTask): Daemon {
  return {
    displayName,
    start: async (ports) => {
      const stopping = new AbortController()
      const once = createTask(ports)
      const keep = async () => {
        while (!stopping.signal.aborted) {
          try {
            await once()
          } catch (error) {
            ports.log.warn(failureMessage, error)
          }
          await ports.pacer.pause(intervalMs, stopping.signal)
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
