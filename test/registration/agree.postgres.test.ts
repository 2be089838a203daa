/** The opt-in form of hosted pages. */
import { beforeEach, describe, expect, it } from "vitest"
import { ownDomainWorld } from "../domains/domain-world.ts"
import { newPhoneNumber, postText } from "../phone/text-requests.ts"
import { countBotSubmissions } from "../leads/bot-submissions.ts"
import { type Company, openWorld, freezeRateWindow } from "../support/world.ts"
import {
  loadHostNames,
  makeHostedPages,
  optInsOf,
  submitOptIn,
  formTimeIn,
  waitForFormTime,
  visitHost,
} from "./opt-in-pages.ts"

const world = await ownDomainWorld()
let company: Company
let host: string
let preview: string
let time: string
beforeEach(async () => {
  const hosted = await makeHostedPages(world)
  ;({ company, preview, hostname: host } = hosted)
  time = await waitForFormTime(world, host)
})

const formValues = (changed: Readonly<Record<string, string>> = {}) => {
  return { phone: newPhoneNumber(), firstName: "Ada", service: "yes", _time: time, ...changed }
}
const REDIRECTED_TO_THANKS = { status: 303, headers: { location: "thanks" } }

describe("a submitted form", () => {
  it("is recorded, and redirects to the page of thanks", async () => {
    const values = formValues()
    expect(await submitOptIn(world, host, values)).toMatchObject(REDIRECTED_TO_THANKS)
    const thanks = await visitHost(world, host, "/thanks")
    expect([thanks.status, thanks.body.includes("was recorded")]).toEqual([200, true])
    expect(await optInsOf(world, company)).toEqual([
      {
        id: expect.stringMatching(/^opt_/),
        phone: values.phone,
        firstName: "Ada",
        service: true,
        offers: false,
        method: "web",
        sourceUrl: `https://${host}/texts`,
        createdAt: new Date(world.ports.clock.now()).toISOString(),
      },
    ])
  })

  it("accepts common formats of phone numbers, and an empty name", async () => {
    const changed = { phone: " (415) 555-0199 ", firstName: " ", service: "", offers: "yes" }
    const { service: _not, ...values } = formValues(changed)
    await submitOptIn(world, host, values)
    await submitOptIn(world, host, formValues({ phone: "+44 7911 123456", firstName: "B\0\ud800" }))
    const shown = (await optInsOf(world, company)).map(({ phone, firstName, service, offers }) => {
      return { phone, firstName, service, offers }
    })
    expect(shown.toSorted((a, b) => (a.phone < b.phone ? -1 : 1))).toEqual([
      { phone: "+14155550199", firstName: null, service: false, offers: true },
      { phone: "+447911123456", firstName: "B\ufffd\ufffd", service: true, offers: false },
    ])
  })

  it("opts in only to checked boxes, and ignores other values of a box", async () => {
    await submitOptIn(world, host, formValues({ service: "yes", offers: "no" }))
    expect(await optInsOf(world, company)).toMatchObject([{ service: true, offers: false }])
    for (const value of ["no", "", "false", "YES"]) {
      const { status, body } = await submitOptIn(
        world,
        host,
        formValues({ service: value, offers: value }),
      )
      expect([value, status, body.includes(" checked")]).toEqual([value, 400, false])
    }
    expect(await optInsOf(world, company)).toHaveLength(1)
  })

  it("removes control characters and line breaks from the name", async () => {
    await submitOptIn(
      world,
      host,
      formValues({ firstName: "\u202eAda\u202c\r\n\u2028Anne\u001b\t\u2066Lowe\u007f" }),
    )
    expect(await optInsOf(world, company)).toMatchObject([{ firstName: "Ada Anne Lowe" }])
  })

  it("sends no text", async () => {
    await submitOptIn(world, host, formValues())
    await world.operate("wait")
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/messages")
    expect(body.messages).toEqual([])
  })

  it("does not end a STOP, and does not reveal that there is one", async () => {
    const phone = newPhoneNumber()
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/state")
    const to = body.numbers[0].number
    await world.operate("carrier text-in", { from: phone, to, body: "STOP" })
    const answer = await submitOptIn(world, host, formValues({ phone }))
    expect(answer).toMatchObject(REDIRECTED_TO_THANKS)
    expect((await visitHost(world, host, "/thanks")).body).toMatch(
      /<strong>START<\/strong> to .*\+1 /,
    )
    expect(await optInsOf(world, company)).toHaveLength(1)
    expect(await postText(world, company.key, { to: phone })).toMatchObject({
      status: 409,
      body: { error: "opted_out" },
    })
  })

  it("is recorded once per day and number", async () => {
    const phone = newPhoneNumber()
    for (const firstName of ["Ada", "Bea"]) {
      expect(await submitOptIn(world, host, formValues({ phone, firstName }))).toMatchObject(
        REDIRECTED_TO_THANKS,
      )
    }
    expect(await optInsOf(world, company)).toMatchObject([{ firstName: "Ada" }])
    await world.operate("clock advance", { duration: "1d" })
    await submitOptIn(world, host, formValues({ phone, firstName: "Cleo" }))
    expect(await optInsOf(world, company)).toMatchObject([
      { firstName: "Cleo" },
      { firstName: "Ada" },
    ])
  })

  it("is rejected after the first 100 of a company per day", async () => {
    const { ports } = world
    const dailyCounts = ports.ttlStore.of<{ count: number }>({
      slice: "phone",
      kind: "opt-ins of a day",
    })
    const day = String(Math.floor(ports.clock.now() / 86_400_000))
    const expiresAt = ports.clock.now() + 1_000
    await dailyCounts.update(company.companyId, day, () => ({ content: { count: 99 }, expiresAt }))
    const hundredth = formValues()
    expect(await submitOptIn(world, host, hundredth)).toMatchObject(REDIRECTED_TO_THANKS)
    const refused = await submitOptIn(world, host, formValues())
    expect([refused.status, refused.body.includes("its limit for today")]).toEqual([429, true])
    // A repeated form is still accepted, and other companies have their own limit.
    expect(await submitOptIn(world, host, hundredth)).toMatchObject(REDIRECTED_TO_THANKS)
    expect(await optInsOf(world, company)).toHaveLength(1)
    const other = await makeHostedPages(world)
    const otherValues = { ...formValues(), _time: await waitForFormTime(world, other.hostname) }
    expect(await submitOptIn(world, other.hostname, otherValues)).toMatchObject(
      REDIRECTED_TO_THANKS,
    )
    expect(await optInsOf(world, other.company)).toHaveLength(1)
    await world.operate("clock advance", { duration: "1d" })
    expect(await submitOptIn(world, host, formValues())).toMatchObject(REDIRECTED_TO_THANKS)
  })

  it("records nothing on the preview", async () => {
    const url = `${preview}/texts`
    expect(await submitOptIn(world, "ledger.test", formValues(), {}, url)).toMatchObject(
      REDIRECTED_TO_THANKS,
    )
    const thanks = await visitHost(world, "ledger.test", `${preview}/thanks`)
    expect(thanks.body).toContain("nothing was recorded")
    expect(await optInsOf(world, company)).toEqual([])
  })
})

describe("an invalid form", () => {
  it.for<[string, Record<string, string>, string]>([
    ["no number", { phone: "" }, "Enter a mobile number"],
    ["an incomplete number", { phone: "555" }, "Enter a mobile number"],
    ["a premium number", { phone: "+1 900 555 0123" }, "Enter a mobile number"],
    ["a long number", { phone: "+1".padEnd(500, "5") }, "Enter a mobile number"],
    ["a long name", { firstName: "A".repeat(81) }, "at most 80"],
    ["no checked box", { service: "" }, "Tick at least one box"],
  ])("with %s is shown again with its values", async ([, changed, message]) => {
    const values = formValues({ firstName: `"><i>Ada`, ...changed })
    const { service, ...rest } = values
    const { status, body } = await submitOptIn(world, host, service === "" ? rest : values)
    expect([status, body.includes(message), body.includes("<i>")]).toEqual([400, true, false])
    expect(body.includes(" checked>")).toBe(service !== "")
    if (changed["firstName"] === undefined) expect(body).toContain('value="&quot;&gt;&lt;i&gt;Ada"')
    // A quick correction is not taken for a bot, because the form keeps its time.
    expect(body).toContain(`value="${time}"`)
    expect(await optInsOf(world, company)).toEqual([])
  })

  it("is rejected if it comes from another site or has another content type", async () => {
    const from = (origin: string) => submitOptIn(world, host, formValues(), { origin })
    expect((await from("https://evil.example")).status).toBe(403)
    expect((await from("no address")).status).toBe(403)
    for (const origin of [`https://${host}`, "null"]) {
      expect(await from(origin)).toMatchObject(REDIRECTED_TO_THANKS)
    }
    const json = { "content-type": "application/json" }
    const post = (headers: Record<string, string>, payload: string) =>
      visitHost(world, host, "/texts", { method: "POST", headers, payload })
    expect((await post(json, JSON.stringify(formValues()))).status).toBe(415)
    const type = { "content-type": "application/x-www-form-urlencoded" }
    expect((await post(type, `a=${"x".repeat(16_384)}`)).status).toBe(413)
    expect(await optInsOf(world, company)).toHaveLength(2)
  })
})

describe("a bot", () => {
  it("gets the same answer as a person, but is only counted", async () => {
    const before = await countBotSubmissions(world)
    const other = await waitForFormTime(world, (await makeHostedPages(world)).hostname)
    const quick = formTimeIn((await visitHost(world, host, "/texts")).body)
    const kinds = [{ website_url: "x" }, { _time: quick }, { _time: other }, { _time: "" }]
    for (const changed of kinds) {
      expect(await submitOptIn(world, host, formValues(changed))).toMatchObject(
        REDIRECTED_TO_THANKS,
      )
    }
    expect(await optInsOf(world, company)).toEqual([])
    const after = await countBotSubmissions(world)
    const added = (reason: string) => (after[reason] ?? 0) - (before[reason] ?? 0)
    expect([added("honeypot"), added("quick"), added("unsigned")]).toEqual([1, 1, 2])
  })

  it("can send at most five forms per minute and address", async () => {
    const strict = await openWorld("start", { url: world.databaseUrl })
    freezeRateWindow(strict)
    await loadHostNames(strict)
    const statuses: number[] = []
    for (let i = 0; i < 6; i += 1)
      statuses.push((await submitOptIn(strict, host, formValues())).status)
    await strict.close()
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429])
  })
})
