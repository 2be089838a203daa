/** What a slice runs beside the API for as long as the server runs: a DNS server, a listener for mail. */
import type { Ports } from "./ports.ts"

/** Something that runs. */
export interface Daemon {
  /** As a sentence calls it that could not be stopped: `the DNS server`. */
  readonly what: string
  /** Begins, and answers how it ends. @throws StartupFault where it cannot begin, with what to do */
  readonly start: (ports: Ports) => Promise<{ readonly stop: () => Promise<void> }>
}

/**
 * Starts daemons one after the other, each told to `onStarted` as something to be closed: so where one
 * cannot begin, those before it are ended.
 *
 * @throws StartupFault where one cannot begin
 */
export async function startDaemons(
  daemons: readonly Daemon[],
  ports: Ports,
  onStarted: (closer: { readonly what: string; readonly close: () => Promise<void> }) => void,
): Promise<void> {
  for (const { what, start } of daemons) {
    const { stop } = await start(ports)
    onStarted({ what, close: stop })
  }
}
