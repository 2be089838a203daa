/** A request on the admin socket. Its form stands apart: only who takes requests checks them. */
import { z } from "zod"
import { AdminProtocolFault, MOST_ACTOR, MOST_REASON, parsedJson, startOf } from "./protocol.ts"

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
  /** What is meant to be lost by an operation, by the name it was given. */
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

/** Reads a request. @throws AdminProtocolFault where it is none */
export function readRequest(text: string): AdminRequest {
  const parsed = ADMIN_REQUEST.safeParse(parsedJson(text, "request"))
  if (parsed.success) return parsed.data
  const message = `The request is not as agreed: ${startOf(text)}`
  throw new AdminProtocolFault(message, { cause: parsed.error })
}
