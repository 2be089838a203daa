/** The program's log: one JSON line per event on standard error, without keys, bodies or personal data. */
import { pino } from "pino"

export interface Log {
  readonly info: (message: string, details?: object) => void
  readonly warn: (message: string, error: unknown) => void
}

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

/** Returns the loggable parts of an error: database errors carry row values in their details. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  const code = "code" in error ? error.code : undefined
  return { name, message, code, stack }
}
