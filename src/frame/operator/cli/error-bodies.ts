/** Errors in words that an operator can act on. */
import type { ErrorBody } from "../protocol.ts"
import { ServerGone } from "./admin-client.ts"
import { CannotWrite } from "./out-file.ts"

/** An operation was refused that a command asked for. */
export class Refused extends Error {
  override readonly name = "Refused"
  readonly body: ErrorBody
  constructor(body: ErrorBody) {
    super(body.message)
    this.body = body
  }
}

/** The first broken place, which a fault of a file carries. */
function placeOf(error: Error): object {
  return "place" in error ? { place: error.place } : {}
}

/** Whether a file that was named could not be read. */
function isFileError(error: Error): boolean {
  return "syscall" in error && "path" in error && "code" in error
}

/** An error whose sentence tells an operator what to do; null where it is none of these. */
export async function plainBodyOf(error: unknown): Promise<ErrorBody | null> {
  if (!(error instanceof Error)) return null
  const { name, message } = error
  // The embedded PostgreSQL has its own class of this name.
  if (name === "StartupFault") return { error: "startup", message }
  if (error instanceof Refused) return error.body
  if (name === "FileFault") return { error: "not_as_it_was", message, ...placeOf(error) }
  if (name === "RulesFault") return { error: "no_rules", message }
  if (name === "NoFile") return { error: "cannot_read", message }
  if (name === "NoSuchCompany") return { error: "not_found", message }
  if (isFileError(error)) return { error: "cannot_read", message }
  if (error instanceof ServerGone) return { error: "unavailable", message }
  if (error instanceof CannotWrite) return { error: "cannot_write", message }
  // Others are of the stores, which are there by then.
  return (await import("../run-operation.ts")).errorBodyOf(error)
}
