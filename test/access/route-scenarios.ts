/** Read-after-write cases of the people routes. */
import { makeKey } from "../support/world.ts"
import type { ReadAfterWriteCases } from "../support/route-scenarios.ts"

let made = 0

/** The last name in order, which is the person added last. */
const lastOf = (names: readonly string[]) => names.toSorted().at(-1)

/** A change, and how the route shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/people": {
    writeValue: async (world, company) => {
      made += 1
      const name = `Person ${String(made).padStart(3, "0")}`
      await makeKey(world, company, { name })
      return name
    },
    readValue: (body) => lastOf(body.people.map(({ name }: { name: string }) => name)),
  },
}
