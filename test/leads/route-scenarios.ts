/** Read-after-write cases of the leads' routes. */
import type { ReadAfterWriteCases } from "../support/route-scenarios.ts"
import { openForm, postFormJson } from "./forms.ts"

/** The lead's id after a form is sent. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/leads": {
    writeValue: async (world, company) => {
      const { body } = await postFormJson(world, await openForm(world, company))
      // A form is sent without a key, so no `Ledger-Position` makes the reader wait.
      await world.operate("wait")
      return body.id
    },
    readValue: (body) => body.leads.at(-1)?.id,
  },
}
