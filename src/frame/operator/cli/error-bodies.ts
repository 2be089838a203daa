/** Errors in words that an operator can act on. */
import type { ErrorBody } from "../protocol.ts"
import { isRow, USAGE } from "../protocol.ts"
import { Refused, ServerGone } from "./client.ts"
import type { CommandSpec } from "./command.ts"
import { CannotWrite } from "./out-file.ts"
import { wordOfField } from "./program.ts"

/** The first broken place, which a fault of a file carries. */
function placeOf(error: Error): object {
  return "place" in error ? { place: error.place } : {}
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
  if ("syscall" in error && "path" in error && "code" in error) {
    return {
      error: "cannot_read",
      message: `${String(error.path)} cannot be read (${String(error.code)}).`,
    }
  }
  if (error instanceof ServerGone) return { error: "unavailable", message }
  if (error instanceof CannotWrite) return { error: "cannot_write", message }
  // Others are of the stores, which are there by then.
  return (await import("../run-operation.ts")).errorBodyOf(error)
}

/** The faults of an input in the words of its command; words that cannot stand together are wrong usage. */
export function inWordsOf(command: CommandSpec, body: ErrorBody): ErrorBody {
  const { error, fields } = body
  if (error !== "validation" || !isRow(fields)) return body
  if (typeof fields[USAGE] === "string") return { error: USAGE, message: fields[USAGE] }
  const faults = Object.entries(fields).map(([path, fault]) => {
    const [field = path] = path.split(".")
    const text = String(fault)
    const behind = `${text.charAt(0).toLowerCase()}${text.slice(1)}`.replace(/\.$/, "")
    return `${wordOfField(command, field)}: ${behind}`
  })
  return { ...body, message: `This is not valid: ${faults.join("; ")}` }
}
