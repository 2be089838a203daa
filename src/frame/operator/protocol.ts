/**
 * How the command line and a running server talk over the admin socket: HTTP, a request as one JSON
 * document, the answer as lines of JSON. Any number of lines tell progress or carry a piece of a
 * file; the last one, and no other, is a result or an error.
 */
import { z } from "zod"

/** Where the server says who it is, and where it takes operations. */
export const ADMIN_PATHS = { identity: "/identity", operations: "/operations" } as const

/** The form of an answer's lines, as a content type. */
export const LINES_TYPE = "application/x-ndjson; charset=utf-8"

/** How many characters the name of an actor may have, and a reason. */
export const [MOST_ACTOR, MOST_REASON] = [200, 2_000] as const

/** The form of a request: one operation, asked for by an operator. */
const ADMIN_REQUEST = z.object({
  /** Its name, such as `company create`. */
  operation: z.string().min(1),
  /** Checked by the operation itself. */
  input: z.unknown().optional(),
  /** Who asks: goes into the metadata of every fact. */
  actor: z.string().min(1).max(MOST_ACTOR),
  /** Why, for auditors. */
  reason: z.string().max(MOST_REASON).nullable(),
  /** What an operation that cannot be undone is meant to be done to, by the name it was given. */
  confirmed: z.string().optional(),
  /**
   * Where the answer is shown to people, and the file that holds what is sent: an operation with
   * words of its own for it then answers these instead of its fields.
   */
  page: z
    .object({ isTTY: z.boolean(), columns: z.number(), file: z.string().nullable() })
    .optional(),
})

/** One operation, asked for by an operator. */
export type AdminRequest = Readonly<z.infer<typeof ADMIN_REQUEST>>

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

const RESULT = z.unknown().refine((result) => result !== undefined, "must be there")
const LINE = z.union([
  z.strictObject({ progress: z.string() }),
  z.strictObject({ chunk: z.string() }),
  z.strictObject({ bytes: z.base64() }),
  z.strictObject({ error: z.looseObject({ error: z.string(), message: z.string() }) }),
  z.strictObject({ result: RESULT, text: z.string().optional() }),
])

/** A line of an answer as it is sent, with its end. */
export function lineText(line: AdminLine): string {
  return `${JSON.stringify(line)}\n`
}

/** Reads a line of an answer. @throws AdminProtocolFault where it is none */
export function readLine(text: string): AdminLine {
  return parse(LINE, text, "line")
}

/** An effective setting. Its value is text, and masked where it is secret. */
const SETTING = z.object({
  name: z.string(),
  value: z.string(),
  source: z.enum(["default", "environment"]),
})

/** An effective setting, as it is shown. */
export type ShownSetting = z.infer<typeof SETTING>

/** Which server answers on a socket. One of an earlier release says nothing of its settings. */
const IDENTITY = z.object({
  folderId: z.string(),
  pid: z.int().positive(),
  settings: z.array(SETTING).readonly().default([]),
})

/** The data folder that a server holds, its process, and the settings it was started with. */
export type Identity = z.infer<typeof IDENTITY>

/** Reads who a server says it is. @throws AdminProtocolFault where it says nothing of the kind */
export function readIdentity(text: string): Identity {
  return parse(IDENTITY, text, "identity")
}

/** Reads a request. @throws AdminProtocolFault where it is none */
export function readRequest(text: string): AdminRequest {
  return parse(ADMIN_REQUEST, text, "request")
}

/** What came over the admin socket is not what was agreed. */
export class AdminProtocolFault extends Error {
  override readonly name = "AdminProtocolFault"
}

function parse<T>(form: z.ZodType<T>, text: string, what: string): T {
  const start = text.slice(0, 200)
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch (error) {
    throw new AdminProtocolFault(`The ${what} is no JSON: ${start}`, { cause: error })
  }
  const parsed = form.safeParse(raw)
  if (parsed.success) return parsed.data
  throw new AdminProtocolFault(`The ${what} is not as agreed: ${start}`, { cause: parsed.error })
}
