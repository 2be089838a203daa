/** What the routes of registration show. */
import type { Readings } from "../support/readings.ts"
import { bought, search } from "../phone/numbering.ts"
import { saveBusiness, savePages } from "./paged.ts"
import { done, written } from "./registering.ts"

let notes = 0

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/phone/pages": {
    write: async (world, company) => {
      notes += 1
      await saveBusiness(world, company)
      const services = `repairs and orders ${notes}`
      await savePages(world, company, { services })
      return services
    },
    shown: (body) => body.services,
  },
  "GET /api/v1/phone/campaign": {
    write: async (world, company) => {
      notes += 1
      await written(world, company)
      const draft = await done(world, company, "POST campaign/draft")
      const description = `${draft.description} Again ${notes}.`
      await done(world, company, "PUT campaign", { ...draft, description, brandType: "low_volume" })
      return description
    },
    shown: (body) => body.description,
  },
  "GET /api/v1/phone/registration": {
    write: async (world, company) => {
      const { numbers } = (await search(world, company)).body
      return `number:${(await bought(world, company, numbers[0].number)).id}`
    },
    shown: (body) => body.parts.at(-1).part,
  },
}
