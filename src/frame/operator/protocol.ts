/**
 * How the command line and a running server talk over the admin socket: HTTP, a request as one JSON
 * document, the answer as lines of JSON. Any number of lines tell progress or carry a piece of a
 * file; the last one, and no other, is a result or an error.
 */
import { isRow } from "./cli/rows.ts"

/** Where the server says who it is, and where it takes operations. */
export const ADMIN_PATHS = { identity: "/identity", operations: "/operations" } as const

/** The form of an answer's lines, as a content type. */
export const LINES_TYPE = "application/x-ndjson; charset=utf-8"

/** How many characters the name of an actor may have, and a reason. */
export const [MOST_ACTOR, MOST_REASON] = [200, 2_000] as const

/** Why something was not done, in the form of the API's errors; more fields may stand beside. */
export interface ErrorBody {
  /** A code that scripts can compare. */
  readonly error: string
  /** One sentence for people. */
  readonly message: string
  readonly [detail: string]: unknown
}

/**
 * How an operation ended: with its answer, or why it was not done. In words for people there is no
 * more of the answer than its `ok`.
 */
export type AdminAnswer =
  { readonly result: unknown; readonly text?: string | undefined } | { readonly error: ErrorBody }

/** The error of an input whose fields cannot stand together: wrong usage, exit code 2. */
export const USAGE = "usage"

/** One line of an answer. */
export type AdminLine =
  | { readonly progress: string }
  | { readonly chunk: string }
  /** A piece of a file that is no text, in base64. */
  | { readonly bytes: string }
  | AdminAnswer

/** A line of an answer as it is sent, with its end. */
export function lineText(line: AdminLine): string {
  return `${JSON.stringify(line)}\n`
}

/** Reads a line of an answer. @throws AdminProtocolFault where it is none */
export function readLine(text: string): AdminLine {
  const line = parsedJson(text, "line")
  if (isLine(line)) return line
  throw new AdminProtocolFault(`The line is not as agreed: ${startOf(text)}`)
}

// Whoever asks a server reads few forms, and starts for each command anew: they are looked at by hand.
function isLine(value: unknown): value is AdminLine {
  if (!isRow(value)) return false
  const names = Object.keys(value)
  if ("result" in value) {
    const { result, text } = value
    const isBare = names.every((name) => name === "result" || name === "text")
    return isBare && result !== undefined && (text === undefined || typeof text === "string")
  }
  const { progress, chunk, bytes, error } = value
  const isText = typeof progress === "string" || typeof chunk === "string" || isBase64(bytes)
  return names.length === 1 && (isText || isErrorBody(error))
}

function isErrorBody(value: unknown): value is ErrorBody {
  return isRow(value) && typeof value["error"] === "string" && typeof value["message"] === "string"
}

function isBase64(value: unknown): boolean {
  const isOfIt = typeof value === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
  return isOfIt && value.length % 4 === 0
}

/** An effective setting, as it is shown. Its value is text, and masked where it is secret. */
export interface ShownSetting {
  readonly name: string
  readonly value: string
  readonly source: "default" | "environment"
}

/** The data folder that a server holds, its process, and the settings it was started with. */
export interface Identity {
  readonly folderId: string
  readonly pid: number
  /** One of an earlier release says nothing of its settings. */
  readonly settings: readonly ShownSetting[]
}

/** Reads who a server says it is. @throws AdminProtocolFault where it says nothing of the kind */
export function readIdentity(text: string): Identity {
  const identity = parsedJson(text, "identity")
  if (isRow(identity)) {
    const { folderId, pid, settings = [] } = identity
    const isNumbered = typeof pid === "number" && Number.isSafeInteger(pid) && pid > 0
    const isWhole = typeof folderId === "string" && isNumbered
    if (isWhole && Array.isArray(settings) && settings.every(isSetting)) {
      return { folderId, pid, settings }
    }
  }
  throw new AdminProtocolFault(`The identity is not as agreed: ${startOf(text)}`)
}

function isSetting(value: unknown): value is ShownSetting {
  if (!isRow(value)) return false
  const { name, value: shown, source } = value
  const isNamed = typeof name === "string" && typeof shown === "string"
  return isNamed && (source === "default" || source === "environment")
}

/** What came over the admin socket is not what was agreed. */
export class AdminProtocolFault extends Error {
  override readonly name = "AdminProtocolFault"
}

/** What a text says in JSON. @throws AdminProtocolFault where it is none */
export function parsedJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AdminProtocolFault(`The ${what} is no JSON: ${startOf(text)}`, { cause: error })
  }
}

/** So much of what came that it is known again. */
export function startOf(text: string): string {
  return text.slice(0, 200)
}
