/** How long an operator's command waits for a database that is known not to answer. */
import type { AdminPorts } from "./operation.ts"

/** With the few seconds in which a silence is noticed, an operator hears of it within ten. */
const SILENT_MOST_MS = 7_000
const LOOK_MS = 250

/** The database did not answer while a command ran. */
export class DatabaseSilent extends Error {
  override readonly name = "DatabaseSilent"
  /** `since` is UTC ms. */
  constructor(since: number) {
    super(`PostgreSQL does not answer since ${new Date(since).toISOString()}`)
  }
}

/**
 * What a command comes to, unless the database is silent for too long. One that is patient goes on
 * where it was begun while the database answered: it may be at the end of an hour's work, and a
 * database that was only frozen goes on with it.
 *
 * @throws DatabaseSilent, and what the command throws
 */
export async function unlessSilent<T>(
  ports: Pick<AdminPorts, "silentSince" | "pacer">,
  isPatient: boolean,
  command: Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  try {
    return await Promise.race([command, silentTooLong(ports, isPatient, ended.signal)])
  } finally {
    ended.abort()
  }
}

async function silentTooLong(
  { silentSince, pacer }: Pick<AdminPorts, "silentSince" | "pacer">,
  isPatient: boolean,
  ended: AbortSignal,
): Promise<never> {
  let silentFromMs: number | null = null
  let isBegun = false
  for (;;) {
    ended.throwIfAborted()
    const since = silentSince()
    if (since === null) {
      isBegun = true
      silentFromMs = null
    } else {
      silentFromMs ??= pacer.elapsedMs()
      const isLong = pacer.elapsedMs() - silentFromMs >= SILENT_MOST_MS
      if (isLong && !(isPatient && isBegun)) throw new DatabaseSilent(since)
    }
    await pacer.pause(LOOK_MS, ended)
  }
}
