/** Stored text that contains HTML, scripts or formulas is sent as data and never runs. */
import { describe, expect, it } from "vitest"
import { addPerson, makeCompany, makeKey, sharedWorld } from "../support/world.ts"
import type { BrowserAnswer } from "./http-browser.ts"
import { openPersonBrowser } from "./console-visitors.ts"

const HTML = `<img src=x onerror="alert(1)"><script>alert(2)</script>`
const ADDRESS = "javascript:alert(3)"
const FORMULA = '=HYPERLINK("https://evil.example","open")'

const world = await sharedWorld({ rateLimits: "off" })
const company = await makeCompany(world)
const owner = await openPersonBrowser(world, company.ownerId)
const of = { company: company.companyId }
for (const [i, text] of [HTML, ADDRESS, FORMULA].entries()) {
  const { personId } = await addPerson(world, company, {
    name: text,
    email: `p${i}@example.com`,
    role: "user",
  })
  await makeKey(world, company, { person: personId, label: text })
  await world.operate("charge", { ...of, class: "ai", dollars: "0.01", item: text })
  const { formId } = await world.operate("form add", { ...of, name: text })
  await world.operate("lead add", { ...of, form: formId, email: `lead${i}@example.com` })
}

const at = (rest: string) => `/console/${company.companyId}${rest}`
const act = (operation: string, input: object = {}) =>
  owner.send("POST", at(`/operations/${operation}`), { input })

function expectData({ status, headers, body }: BrowserAnswer): void {
  expect(status).toBe(200)
  expect(headers["content-type"]).toMatch(/^application\/json/)
  expect(headers["x-content-type-options"]).toBe("nosniff")
  expect(typeof body).toBe("object")
}

describe("HTML, a script's address and a formula", () => {
  it.each(["person-list", "key-list", "charge-list", "charge-days", "form-list"])(
    "are returned as stored, as JSON that no browser treats as a page: %s",
    async (operation) => {
      const answer = await act(operation)
      expectData(answer)
      const shown = JSON.stringify(answer.body)
      for (const text of [HTML, ADDRESS, FORMULA]) {
        expect(shown).toContain(JSON.stringify(text).slice(1, -1))
      }
    },
  )

  it("are also returned as JSON by the API", async () => {
    for (const path of ["/api/v1/people", "/api/v1/leads"]) expectData(await owner.get(at(path)))
  })

  it("are not echoed in a page of an error", async () => {
    const missing = await act("key-pause", { keyId: HTML })
    expect(missing.status).toBe(404)
    expect(missing.headers["content-type"]).toMatch(/^application\/json/)
    expect(missing.headers["x-content-type-options"]).toBe("nosniff")
    const nowhere = await owner.send("POST", at(`/operations/${encodeURIComponent(HTML)}`), {})
    expect(nowhere.headers["content-type"]).toMatch(/^application\/json/)
  })

  it("are plain text in the cells of a bill: no cell starts like a formula", async () => {
    const month = new Date(world.ports.clock.now()).toISOString().slice(0, 7)
    const bill = await act("export-billing", { month, format: "csv" })
    expect(bill.status).toBe(200)
    expect(bill.headers["content-disposition"]).toMatch(/^attachment/)
    expect(bill.headers["x-content-type-options"]).toBe("nosniff")
    expect(bill.headers["content-type"]).not.toMatch(/html/)
    const text = String(bill.body)
    expect(text).toContain("HYPERLINK")
    expect(text).not.toMatch(/(^|,|\n)"?[=+@][A-Za-z]/)
  })
})
