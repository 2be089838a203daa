/** What the routes of the phone show. */
import type { OtherAnswers, Readings } from "../support/readings.ts"
import { bought, release, buy, search } from "./numbering.ts"
import { optIn } from "./opted-in.ts"
import { newNumber, sendText } from "./texting.ts"

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "releaseNumber 200": async (world, company) =>
    release(world, company, (await bought(world, company)).id),
}

let optIns = 0
let notes = 0
let isOn = false

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/phone/messages": {
    write: async (world, company) => (await sendText(world, company.key)).body.id,
    shown: (body) => body.messages.at(-1)?.id,
  },
  "GET /api/v1/phone/opt-outs": {
    write: async (world, company) => {
      const phone = newNumber()
      await world.call(company.key, "POST", "/api/v1/phone/opt-outs", { body: { phone } })
      return phone
    },
    // Two of one millisecond stand in no order; a new number is greater than those before.
    shown: (body) =>
      body.optOuts
        .map(({ phone }: { phone: string }) => phone)
        .toSorted()
        .at(-1),
  },
  "GET /api/v1/phone/state": {
    write: async (world, company) => (await bought(world, company)).id,
    shown: (body) => body.numbers.at(-1)?.id,
  },
  "GET /api/v1/phone/search": {
    write: async (world, company) => {
      const { numbers } = (await search(world, company)).body
      await buy(world, company, numbers[0].number)
      return numbers[1].number
    },
    shown: (body) => body.numbers[0]?.number,
  },
  "GET /api/v1/phone/settings": {
    write: async (world, company) => {
      notes += 1
      const body = { texting: { helpReply: `Ask ${notes}.` } }
      await world.call(company.key, "PATCH", "/api/v1/phone/settings", { body })
      return `Ask ${notes}.`
    },
    shown: (body) => body.texting.helpReply,
  },
  "GET /api/v1/phone/destinations": {
    write: async (world, company) => {
      isOn = !isOn
      const body = { country: "GB", on: isOn }
      await world.call(company.key, "PATCH", "/api/v1/phone/destinations", { body })
      return isOn
    },
    shown: (body) => body.selfServe.find((one: { code: string }) => one.code === "GB")?.on,
  },
  "GET /api/v1/phone/optins": {
    write: async (world, company) => {
      optIns += 1
      await optIn(world, company, newNumber(), { optInId: `opt_${optIns}` })
      // Nothing that a key can do writes it so far.
      await world.operate("wait")
      return optIns
    },
    shown: (body) => body.optins.length,
  },
}
