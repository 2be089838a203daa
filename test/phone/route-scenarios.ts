/** Scenarios for the routes of the phone. */
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import {
  buyNumberForId,
  requestNumberRelease,
  requestNumber,
  requestNumberSearch,
} from "./number-orders.ts"
import { storeOptIn } from "./stored-opt-in.ts"
import { newPhoneNumber, postText } from "./text-requests.ts"

/** Scenarios by route name and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "releaseNumber 200": async (world, company) =>
    requestNumberRelease(world, company, (await buyNumberForId(world, company)).id),
}

let optInCount = 0
let changeCount = 0
let isOn = false

/** For each read: a change, and the value that shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/phone/messages": {
    writeValue: async (world, company) => (await postText(world, company.key)).body.id,
    readValue: (body) => body.messages.at(-1)?.id,
  },
  "GET /api/v1/phone/opt-outs": {
    writeValue: async (world, company) => {
      const phone = newPhoneNumber()
      await world.call(company.key, "POST", "/api/v1/phone/opt-outs", { body: { phone } })
      return phone
    },
    // Two changes in one millisecond have no order, but each new number is greater than the earlier ones.
    readValue: (body) =>
      body.optOuts
        .map(({ phone }: { phone: string }) => phone)
        .toSorted()
        .at(-1),
  },
  "GET /api/v1/phone/state": {
    writeValue: async (world, company) => (await buyNumberForId(world, company)).id,
    readValue: (body) => body.numbers.at(-1)?.id,
  },
  "GET /api/v1/phone/search": {
    writeValue: async (world, company) => {
      const { numbers } = (await requestNumberSearch(world, company)).body
      await requestNumber(world, company, numbers[0].number)
      return numbers[1].number
    },
    readValue: (body) => body.numbers[0]?.number,
  },
  "GET /api/v1/phone/settings": {
    writeValue: async (world, company) => {
      changeCount += 1
      const body = { texting: { helpReply: `Ask ${changeCount}.` } }
      await world.call(company.key, "PATCH", "/api/v1/phone/settings", { body })
      return `Ask ${changeCount}.`
    },
    readValue: (body) => body.texting.helpReply,
  },
  "GET /api/v1/phone/destinations": {
    writeValue: async (world, company) => {
      isOn = !isOn
      const body = { country: "GB", on: isOn }
      await world.call(company.key, "PATCH", "/api/v1/phone/destinations", { body })
      return isOn
    },
    readValue: (body) => body.selfServe.find((one: { code: string }) => one.code === "GB")?.on,
  },
  "GET /api/v1/phone/optins": {
    writeValue: async (world, company) => {
      optInCount += 1
      await storeOptIn(world, company, newPhoneNumber(), { optInId: `opt_${optInCount}` })
      // No request of a key stores an opt-in, so there is no position to read at.
      await world.operate("wait")
      return optInCount
    },
    readValue: (body) => body.optins.length,
  },
}
