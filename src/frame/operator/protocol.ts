/**
 * The operator's HTTP: where its routes are, and the forms of what they say. The command line starts for each command
 * again, so nothing here needs a schema.
 */
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, unlinkSync } from "node:fs"
import { basename, dirname, join } from "node:path"

/** The path in front of every route for operators. */
const OPERATOR_PATH = "/operator/v1"

/** Where a server says which data folder it holds. */
export const SERVER_URL = `${OPERATOR_PATH}/server`

/** Where an operation is watched, by the name that its caller gave it. */
export const operationEventsUrl = (name: string): string => `${OPERATOR_PATH}/events/${name}`

/** The name of an operation as paths have it: `key create` is `key-create`. */
export const operationSlug = (operation: string): string => operation.replaceAll(" ", "-")

/** Where an operation is done. */
export const operationUrl = (operation: string): string =>
  `${OPERATOR_PATH}/operations/${operationSlug(operation)}`

/** The most bytes in the head of a request: a reason stands there, percent-encoded. */
export const MAX_HEADER_BYTES = 64 * 1024

/** The most characters in the name of an actor, and in a reason. */
export const [MAX_ACTOR_LENGTH, MAX_REASON_LENGTH] = [200, 2_000] as const

/** Why something was not done, in the form of the API's errors; more fields may follow. */
export interface ErrorBody {
  /** A code that scripts can compare. */
  readonly error: string
  /** One sentence for people. */
  readonly message: string
  readonly [detail: string]: unknown
}

/** How an operation ended: with its answer, or why it was not done. */
export type OperatorAnswer = { readonly result: unknown } | { readonly error: ErrorBody }

/** What whoever watches an operation is told, as the data of an event of this name. */
export interface OperationEvents {
  /** How far long work has come. */
  readonly progress: string
  /** How it ended; a file that it sent is then known to be whole. */
  readonly answer: OperatorAnswer
}

/** One operation, asked for by an operator. */
export interface OperatorRequest {
  /** Its name, such as `company create`. */
  readonly operation: string
  readonly input: unknown
  /** Who asks: goes into the metadata of every fact. */
  readonly actor: string
  /** Why, for auditors. */
  readonly reason: string | null
  /** The name of what is lost by the operation, as a confirmation. */
  readonly confirmation?: string | null
  /** The field of the input that names a file of this machine, which is sent as the body. */
  readonly uploadField?: string
  /** Where people read the answer, and the file that takes what is sent; absent: it is read as JSON. */
  readonly page?: {
    readonly isTTY: boolean
    readonly columns: number
    readonly file: string | null
  }
}

/**
 * Wrong usage, exit code 2: the error of words that cannot stand together, and the field by which a refusal of an input
 * says so.
 */
export const USAGE = "usage"

/** An effective setting, as it is shown. Its value is text, and masked where it is secret. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly source: "default" | "environment"
}

/** The data folder that a server holds, its process, and the settings it was started with. */
export interface ServerIdentity {
  readonly folderId: string
  readonly pid: number
  readonly settings: readonly ShownSetting[]
}

/** An answer's fields, or a row's. */
export type ResultRow = Readonly<Record<string, unknown>>

/** Whether a value has named fields. */
export function isResultRow(value: unknown): value is ResultRow {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The longest path of a socket, bytes: what Linux takes without cutting it off. */
export const MAX_SOCKET_PATH_BYTES = 107

/**
 * Listens in a folder that only this user can enter, then moves the socket to its place: it has mode 0600
 * from the moment it has its name.
 *
 * @param listen begins to listen at a path, and resolves once it does
 * @returns what removes the socket, unless another server has put its own in the same place
 * @throws RangeError: the path is too long for a socket
 * @throws what `listen` throws, and the operating system's error
 */
export async function listenOnPrivateSocket(
  socketPath: string,
  listen: (path: string) => Promise<unknown>,
): Promise<() => void> {
  const room = join(dirname(socketPath), `.${basename(socketPath, ".sock")}`)
  const hidden = join(room, "s")
  for (const path of [socketPath, hidden]) {
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
      throw new RangeError(`The path of a socket has at most 107 bytes; this is longer: ${path}`)
    }
  }
  // What a killed run left behind.
  rmSync(room, { recursive: true, force: true })
  mkdirSync(room, { mode: 0o700 })
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
    rmSync(room, { recursive: true, force: true })
  }
}
