/**
 * A reason why the program cannot start that its operator can mend. The message is one plain
 * sentence that says what is wrong and what to do; it is printed alone, so it carries no stack.
 */
export class StartupFault extends Error {
  /** `sentence` is the whole message; `cause` keeps the fault that was seen, for a debugger. */
  constructor(sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause })
    this.name = "StartupFault"
    delete this.stack
  }
}

/** What to do where a folder is of no use. */
export const OTHER_FOLDER_ADVICE = "set LEDGER_DATA_DIR to another folder"

/** The `code` of a fault from the operating system (`"ENOENT"`), undefined for any other. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

/** The sentence for an operating system's fault with `path`, undefined when there is none. */
function startupFaultFromError(error: unknown, path: string): StartupFault | undefined {
  const sentence = explainErrorCode(errorCode(error), path)
  return sentence === undefined ? undefined : new StartupFault(sentence, error)
}

/** Does `work` on `path`; a fault that an operator can mend is thrown as a `StartupFault`. */
export async function withStartupFaults<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw startupFaultFromError(error, path) ?? error
  }
}

/** The sentence for a code of the operating system, undefined where there is none. */
export function explainErrorCode(code: string | undefined, path: string): string | undefined {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return `The disk that holds ${path} is full: free some space on it and start again.`
    case "EACCES":
    case "EPERM":
      return (
        `${path} cannot be read and written by this user: ` +
        `make its owner the user who starts the program (chown -R), or ${OTHER_FOLDER_ADVICE}.`
      )
    case "EROFS":
      return `${path} is on a read-only file system: make it writable, or ${OTHER_FOLDER_ADVICE}.`
    case "ENOTDIR":
    case "EEXIST":
      return `${path} lies inside a file or is one, where a folder is needed: ${OTHER_FOLDER_ADVICE}.`
    case "ENAMETOOLONG":
      return `The path ${path} is too long: ${OTHER_FOLDER_ADVICE} with a shorter path.`
    default:
      return undefined
  }
}
