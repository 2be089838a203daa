/** The operator API: its paths and message types. It uses no schemas, so that each command starts fast. */
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, unlinkSync } from "node:fs"
import { basename, dirname, join } from "node:path"

/** Path prefix of the operator API. */
const OPERATOR_PATH = "/operator/v1"

/** Path of the server's identity. */
export const SERVER_URL = `${OPERATOR_PATH}/server`

/** Returns the path of an operation's events, by the name that its caller chose. */
export const operationEventsUrl = (name: string): string => `${OPERATOR_PATH}/events/${name}`

/** Returns an operation's name in paths: `key create` is `key-create`. */
export const operationSlug = (operation: string): string => operation.replaceAll(" ", "-")

/** Returns the path of an operation. */
export const operationUrl = (operation: string): string =>
  `${OPERATOR_PATH}/operations/${operationSlug(operation)}`

/** Maximum size of a request's head, bytes; it may contain a percent-encoded reason. */
export const MAX_HEADER_BYTES = 64 * 1024

/** Maximum lengths of an actor's name and of a reason, characters. */
export const [MAX_ACTOR_LENGTH, MAX_REASON_LENGTH] = [200, 2_000] as const

/** An error in the form of the API's errors; more fields may follow. */
export interface ErrorBody {
  /** Error code for scripts. */
  readonly error: string
  /** One sentence for people. */
  readonly message: string
  readonly [detail: string]: unknown
}

/** The outcome of an operation: its result or an error. */
export type OperatorAnswer = { readonly result: unknown } | { readonly error: ErrorBody }

/** Events of an operation, by name. */
export interface OperationEvents {
  /** A progress message. */
  readonly progress: string
  /** The outcome; a file that was sent is then complete. */
  readonly answer: OperatorAnswer
}

export interface OperatorRequest {
  /** Name, such as `company create`. */
  readonly operation: string
  readonly input: unknown
  /** The actor, stored in the metadata of every fact. */
  readonly actor: string
  /** The reason, for auditors. */
  readonly reason: string | null
  /** The name that confirms an irreversible operation. */
  readonly confirmation?: string | null
  /** The input field that names a file of this machine to upload. */
  readonly uploadField?: string
  /** The output for people, with the path of the output file; absent for a JSON answer. */
  readonly page?: {
    readonly isTTY: boolean
    readonly columns: number
    readonly file: string | null
  }
}

/** Error code of wrong usage (exit code 2), and the field that carries it in a refusal. */
export const USAGE = "usage"

/** An effective setting for display; secret values are masked. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly source: "default" | "environment"
}

/** A server's data folder, process, and the settings it was started with. */
export interface ServerIdentity {
  readonly folderId: string
  readonly pid: number
  readonly settings: readonly ShownSetting[]
}

/** The fields of an answer or a row. */
export type ResultRow = Readonly<Record<string, unknown>>

/** Whether a value is an object with named fields. */
export function isResultRow(value: unknown): value is ResultRow {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Maximum length of a socket's path on Linux, bytes. */
export const MAX_SOCKET_PATH_BYTES = 107

/**
 * Listens in a folder that only this user can enter, then moves the socket to its path, so that it has mode 0600
 * from the moment it has its name.
 *
 * @param listen starts to listen at a path
 * @returns a function that removes the socket, unless another server has replaced it
 * @throws RangeError if the path is too long for a socket; what `listen` throws; the operating system's error
 */
export async function listenOnPrivateSocket(
  socketPath: string,
  listen: (path: string) => Promise<unknown>,
): Promise<() => void> {
  const privateFolder = join(dirname(socketPath), `.${basename(socketPath, ".sock")}`)
  const hidden = join(privateFolder, "s")
  for (const path of [socketPath, hidden]) {
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
      throw new RangeError(
        `A socket's path can have at most 107 bytes; this one is longer: ${path}`,
      )
    }
  }
  // A killed process may have left the folder.
  rmSync(privateFolder, { recursive: true, force: true })
  mkdirSync(privateFolder, { mode: 0o700 })
  try {
    await listen(hidden)
    chmodSync(hidden, 0o600)
    const { ino } = lstatSync(hidden, { bigint: true })
    renameSync(hidden, socketPath)
    return () => {
      const found = lstatSync(socketPath, { bigint: true, throwIfNoEntry: false })
      if (found?.ino === ino) unlinkSync(socketPath)
    }
  } finally {
    rmSync(privateFolder, { recursive: true, force: true })
  }
}
