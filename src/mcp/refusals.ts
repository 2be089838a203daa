/** Refusals of the whole request, before any message of it is looked at, as JSON-RPC says them. */
import type { ErrorForm } from "../frame/routes/declare/error-form.ts"
import type { CODES } from "./messages.ts"
import { Answer, errorOf, idIn } from "./messages.ts"

/** The refusal of any other route goes along: its code and its fields are of use to programs. */
export const errorForm: ErrorForm = {
  schema: Answer,
  of: ({ status, body }, sent) =>
    errorOf(idIn(sent), codeOf(status, body), String(body["message"]), body),
}

function codeOf(status: number, { fields }: Readonly<Record<string, unknown>>): keyof typeof CODES {
  if (status === 401) return "noKey"
  if (status >= 500) return "internal"
  // A body that is no JSON, as against a header or a query that is not right.
  const isOfBody = typeof fields === "object" && fields !== null && "body" in fields
  return status === 400 && isOfBody ? "noJson" : "noRequest"
}
