/** What the routes of leads show. */
import type { ReadAfterWriteCases } from "../support/route-scenarios.ts"
import { openForm, postFormJson } from "./forms.ts"

/** What is shown of each change. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/leads": {
    writeValue: async (world, company) => {
      const { body } = await postFormJson(world, await openForm(world, company))
      // Nothing that a key can do writes it.
      await world.operate("wait")
      return body.id
    },
    readValue: (body) => body.leads.at(-1)?.id,
  },
}
