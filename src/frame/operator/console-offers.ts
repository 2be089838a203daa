/** Operations as consoles show them. */
import { z } from "zod"
import type { Person } from "../../../domain/access/grants.ts"
import type { OfferedOperation } from "./console-port.ts"
import type { ConsoleWord } from "./console-word.ts"
import type { AdminOperation } from "./operation.ts"
import { pathOf } from "./protocol.ts"

/** The field of its input that names a file of the operator's; null where it reads none. */
export function fileField({ input }: Pick<AdminOperation, "input">): string | null {
  if (!(input instanceof z.ZodObject)) return null
  const fields = Object.entries(input.shape)
  return fields.find(([, field]) => field.meta()?.form === "file")?.[0] ?? null
}

/** Whether somebody may do it, whomever of the company it is about. */
export function isLet(word: ConsoleWord<unknown>, { role, permissions }: Person): boolean {
  return word.permission === undefined
    ? word.roles.includes(role)
    : permissions.includes(word.permission)
}

/** An operation as a person is shown it. */
export function offeredTo(
  found: AdminOperation & { readonly console: ConsoleWord<unknown> },
  me: Person,
): OfferedOperation {
  const { name, summary = "", notes = [], irreversible, console: word } = found
  const own = word.own === undefined ? ("no" as const) : ("own" as const)
  return {
    ...{ name: pathOf(name), command: name, summary, notes },
    input: z.toJSONSchema(found.input, { io: "input", unrepresentable: "any" }),
    ...{ changes: found.changes === true, needsReason: found.needsReason === true },
    irreversible:
      irreversible === undefined ? null : { field: irreversible.field, says: irreversible.says },
    takesFile: fileField(found) !== null,
    sendsFile: found.hasFile === true,
    may: isLet(word, me) ? "all" : own,
  }
}
