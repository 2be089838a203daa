/** What the routes of people show. */
import { makeKey } from "../support/world.ts"
import type { ReadAfterWriteCases } from "../support/route-scenarios.ts"

let made = 0

/** The name of whoever was added last, which stands last in the order of names. */
const lastOf = (names: readonly string[]) => names.toSorted().at(-1)

/** What is shown of each change. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/people": {
    writeValue: async (world, company) => {
      made += 1
      const name = `Somebody ${String(made).padStart(3, "0")}`
      await makeKey(world, company, { name })
      return name
    },
    readValue: (body) => lastOf(body.people.map(({ name }: { name: string }) => name)),
  },
}
