/** One request for every route that is built, as tests send it that go over all routes. */
import { PROGRAM } from "../../src/slices.ts"

/** What is sent, beside the key. */
export interface Sample {
  readonly query?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

const INSTALL = "ef".repeat(28)
const UUID = "0b6f1c6e-3f0a-4a51-9c36-4b8d1f6f2a10"
const PHONE = { phone: "+14155557777" }

/** Routes that only read need nothing, unless a row below says what. */
const reading = PROGRAM.routes
  .filter(({ method, url }) => method === "GET" && !url.includes(":"))
  .map(({ method, url }) => [`${method} ${url}`, {}] as const)

/** By the route's name. A new route that changes something fails the tests until it has a row here. */
export const REQUESTS: Readonly<Record<string, Sample>> = {
  ...Object.fromEntries(reading),
  "POST /api/v1/phone/messages": { body: { to: "+14155557778", body: "Hello" } },
  "POST /api/v1/phone/opt-outs": { body: PHONE },
  "DELETE /api/v1/phone/opt-outs": { body: PHONE },
  "POST /api/v1/credits": { body: { amount: 5 }, headers: { "idempotency-key": "by route" } },
  // Without the company's name, which would delete it.
  "POST /api/v1/company/delete": { body: {} },
  // A month that is: the one in which it is asked.
  get "GET /api/v1/billing/export"() {
    return { query: `?month=${new Date().toISOString().slice(0, 7)}&format=csv` }
  },
  "POST /api/v1/ledger/ask": { body: { item: "text", quantity: 3 } },
  "POST /api/v1/connect/start": { body: { version: "2.0.0" } },
  "POST /api/v1/checkin": { body: { installId: INSTALL, version: "2.0.0" } },
  "GET /api/v1/updates": { query: "?version=1.0.0" },
  "POST /api/v1/device-updates": {
    body: {
      ...{ installId: INSTALL, eventId: UUID, attemptId: UUID, sequence: 1 },
      ...{ kind: "app", version: "2.0.0", status: "started" },
    },
  },
}
