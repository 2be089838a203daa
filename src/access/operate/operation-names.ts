/** Operations of the API by their names: as an operator writes them, and which there are. */
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
        : `${name} is no operation; ${suggestionFor(name, ALL_OPERATIONS)}`,
    )
    return z.NEVER
  })
  .meta({ suggests: ALL_OPERATIONS })

/** Operations by name, each of which can be granted. */
export const operationNames = z.array(operationName)

/** What helps somebody who wrote a name that there is not. */
function suggestionFor(name: string, names: readonly string[]): string {
  const nearest = nearestName(name, names)
  return nearest === null ? '"operation list" has all of them.' : `was ${nearest} meant?`
}

const list = localCommand({
  from: import.meta.url,
  name: "operation list",
  summary: "list the operations of the API, and what a key's person needs for each",
  notes: [
    "A key may use those that it was granted, where its person holds the permission, or is an owner.",
    "What has no route yet cannot be granted.",
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

/** Commands about operations. */
export const operationCommands: readonly OperatorCommand[] = [list]
