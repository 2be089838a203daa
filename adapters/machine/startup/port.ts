/**
 * Why the program cannot start, if its operator can fix it. The message says what is wrong and what
 * to do. It is printed alone, so it has no stack.
 */
export class StartupFault extends Error {
  constructor(sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause })
    this.name = "StartupFault"
    delete this.stack
  }
}

/** Advice for an unusable folder. */
export const OTHER_FOLDER_ADVICE = "set LEDGER_DATA_DIR to another folder"

/** Returns the `code` of an operating system error (`"ENOENT"`), undefined for other errors. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

function startupFaultFromError(error: unknown, path: string): StartupFault | undefined {
  const sentence = explainErrorCode(errorCode(error), path)
  return sentence === undefined ? undefined : new StartupFault(sentence, error)
}

/** Runs `work` on `path`; throws errors that an operator can fix as a `StartupFault`. */
export async function withStartupFaults<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw startupFaultFromError(error, path) ?? error
  }
}

/** Explains an operating system code; undefined if it has no explanation. */
export function explainErrorCode(code: string | undefined, path: string): string | undefined {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return `The disk that holds ${path} is full. Free some space on it and start again.`
    case "EACCES":
    case "EPERM":
      return (
        `This user cannot read and write ${path}. ` +
        `Make the user who starts the program its owner (chown -R), or ${OTHER_FOLDER_ADVICE}.`
      )
    case "EROFS":
      return `${path} is on a read-only file system. Make it writable, or ${OTHER_FOLDER_ADVICE}.`
    case "ENOTDIR":
    case "EEXIST":
      return `${path} is a file or inside a file, but must be a folder: ${OTHER_FOLDER_ADVICE}.`
    case "ENAMETOOLONG":
      return `The path ${path} is too long: ${OTHER_FOLDER_ADVICE} with a shorter path.`
    default:
      return undefined
  }
}
