/** Names of API operations: their input field, and the command that lists them. */
import { z } from "zod"
import {
  ALL_OPERATIONS,
  OPERATIONS,
  OPERATIONS_WITHOUT_ROUTE,
  isOperation,
} from "../../../domain/access/permissions.ts"
import { nearestName } from "../../frame/kernel/nearest.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import type { OperatorCommand } from "../../frame/operator/commands.ts"
import { localCommand } from "../../frame/operator/commands.ts"

const operationName = z
  .string()
  .transform((name, context) => {
    if (isOperation(name)) return name
    context.addIssue(
      OPERATIONS_WITHOUT_ROUTE.includes(name)
        ? `${name} has no route yet and cannot be granted.`
        : `${name} is not an operation; ${suggestionFor(name, ALL_OPERATIONS)}`,
    )
    return z.NEVER
  })
  .meta({ suggests: ALL_OPERATIONS })

/** A list of operations that can be granted, by name. */
export const operationNames = z.array(operationName)

function suggestionFor(name: string, names: readonly string[]): string {
  const nearest = nearestName(name, names)
  return nearest === null ? '"operation list" shows all of them.' : `did you mean ${nearest}?`
}

const list = localCommand({
  from: import.meta.url,
  name: "operation list",
  summary: "list the API's operations, and what the person of a key needs for each",
  notes: [
    "A key may use an operation that it was granted, if its person is an owner or has the permission.",
    "Operations without a route cannot be granted yet.",
  ],
  example: "operation list",
  input: z.object({}),
  run: async () => ({
    operations: [
      ...ALL_OPERATIONS.map((operation) => {
        return { operation, personNeeds: OPERATIONS[operation], grantable: true }
      }),
      ...OPERATIONS_WITHOUT_ROUTE.map((operation) => {
        return { operation, personNeeds: null, grantable: false }
      }),
    ],
  }),
  render: ({ operations }, page) => renderTable(operations, page, "operations"),
})

export const operationCommands: readonly OperatorCommand[] = [list]
