/** Processes that a slice runs next to the API while the server runs, such as a DNS server or a mail listener. */
import type { Ports } from "./ports.ts"

/** A background server or task of a slice. */
export interface Daemon {
  /** Name for log lines: `the DNS server`. */
  readonly displayName: string
  /** Starts it. @throws StartupFault with an instruction if it cannot start */
  readonly start: (ports: Ports) => Promise<RunningDaemon>
}

interface RunningDaemon {
  readonly stop: () => Promise<void>
  /** Its address if it listens; written to the log at the start and to `server.json`. */
  readonly listeningAddress?: ListeningAddress
}

export interface ListeningAddress {
  /** Short name: `dns`. */
  readonly name: string
  /** Such as `127.0.0.1:5353`. */
  readonly address: string
}

/**
 * Starts daemons one after the other and passes each to `onStarted`, so that the caller can close the
 * earlier ones if a later one fails.
 *
 * @returns the addresses of those that listen
 * @throws StartupFault if one cannot start
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

/** A task that runs repeatedly. */
interface PeriodicTask {
  /** As `Daemon.displayName`. */
  readonly displayName: string
  /** Pause between the end of one run and the start of the next, milliseconds. */
  readonly intervalMs: number
  /** Warning to log when a run fails; the next run takes place regardless. */
  readonly failureMessage: string
  /** Creates the function for each run; it may keep state between runs. */
  readonly createTask: (ports: Ports) => () => Promise<void>
}

/** Creates a daemon that runs a task at its start and after each pause. Stopping waits for the current run. */
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
      const runOnce = createTask(ports)
      const loop = async () => {
        while (!stopping.signal.aborted) {
          try {
            await runOnce()
          } catch (error) {
            ports.log.warn(failureMessage, error)
          }
          await ports.pacer.pause(intervalMs, stopping.signal)
        }
      }
      const running = loop()
      return {
        stop: async () => {
          stopping.abort()
          await running
        },
      }
    },
  }
}
