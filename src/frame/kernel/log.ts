/** The program's log: one JSON line an event on standard error, never a key, a body or a person. */
import { pino } from "pino"

/** Where what happened without a caller to tell is written. */
export interface Log {
  readonly info: (message: string, details?: object) => void
  readonly warn: (message: string, error: unknown) => void
}

/** A log that also takes what is only wanted by whoever looks closely. */
export interface DetailedLog extends Log {
  readonly debug?: Log["warn"]
}

/** Opens the log at a level; `silent` writes nothing. */
export function openLog(level: string): DetailedLog {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: 2, sync: true }),
  )
  return {
    info: (message, details) => logger.info(details ?? {}, message),
    warn: (message, error) => logger.warn(error === null ? {} : { err: describe(error) }, message),
    debug: (message, error) =>
      logger.debug(error === null ? {} : { err: describe(error) }, message),
  }
}

/** What of an error may be written down: database errors carry row values in their details. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  const code = "code" in error ? error.code : undefined
  return { name, message, code, stack }
}
