/** The form of hosted pages: who agrees is recorded, and nobody else. */
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

const filled = (changed: Readonly<Record<string, string>> = {}) => {
  return { phone: newPhoneNumber(), firstName: "Ada", service: "yes", _time: time, ...changed }
}
const THANKED = { status: 303, headers: { location: "thanks" } }

describe("a form that is filled in", () => {
  it("is recorded, and answered by thanks", async () => {
    const values = filled()
    expect(await submitOptIn(world, host, values)).toMatchObject(THANKED)
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

  it("takes a number as people write it, and no name", async () => {
    const changed = { phone: " (415) 555-0199 ", firstName: " ", service: "", offers: "yes" }
    const { service: _not, ...values } = filled(changed)
    await submitOptIn(world, host, values)
    await submitOptIn(world, host, filled({ phone: "+44 7911 123456", firstName: "B\0\ud800" }))
    const shown = (await optInsOf(world, company)).map(({ phone, firstName, service, offers }) => {
      return { phone, firstName, service, offers }
    })
    expect(shown.toSorted((a, b) => (a.phone < b.phone ? -1 : 1))).toEqual([
      { phone: "+14155550199", firstName: null, service: false, offers: true },
      { phone: "+447911123456", firstName: "B\ufffd\ufffd", service: true, offers: false },
    ])
  })

  it("agrees to what is ticked, and to nothing else that is said of a box", async () => {
    await submitOptIn(world, host, filled({ service: "yes", offers: "no" }))
    expect(await optInsOf(world, company)).toMatchObject([{ service: true, offers: false }])
    for (const said of ["no", "", "false", "YES"]) {
      const { status, body } = await submitOptIn(
        world,
        host,
        filled({ service: said, offers: said }),
      )
      expect([said, status, body.includes(" checked")]).toEqual([said, 400, false])
    }
    expect(await optInsOf(world, company)).toHaveLength(1)
  })

  it("takes a name in one line, in the direction in which it is read", async () => {
    await submitOptIn(
      world,
      host,
      filled({ firstName: "\u202eAda\u202c\r\n\u2028Anne\u001b\t\u2066Lane\u007f" }),
    )
    expect(await optInsOf(world, company)).toMatchObject([{ firstName: "Ada Anne Lane" }])
  })

  it("sends nothing", async () => {
    await submitOptIn(world, host, filled())
    await world.operate("wait")
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/messages")
    expect(body.messages).toEqual([])
  })

  it("ends no STOP, and tells nobody that there is one", async () => {
    const phone = newPhoneNumber()
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/state")
    const to = body.numbers[0].number
    await world.operate("carrier text-in", { from: phone, to, body: "STOP" })
    const answer = await submitOptIn(world, host, filled({ phone }))
    expect(answer).toMatchObject(THANKED)
    expect((await visitHost(world, host, "/thanks")).body).toMatch(
      /<strong>START<\/strong> to .*\+1 /,
    )
    expect(await optInsOf(world, company)).toHaveLength(1)
    expect(await postText(world, company.key, { to: phone })).toMatchObject({
      status: 409,
      body: { error: "opted_out" },
    })
  })

  it("counts once a day for a number", async () => {
    const phone = newPhoneNumber()
    for (const firstName of ["Ada", "Bea"]) {
      expect(await submitOptIn(world, host, filled({ phone, firstName }))).toMatchObject(THANKED)
    }
    expect(await optInsOf(world, company)).toMatchObject([{ firstName: "Ada" }])
    await world.operate("clock advance", { duration: "1d" })
    await submitOptIn(world, host, filled({ phone, firstName: "Cleo" }))
    expect(await optInsOf(world, company)).toMatchObject([
      { firstName: "Cleo" },
      { firstName: "Ada" },
    ])
  })

  it("is refused from the 101st of a day on, for this company", async () => {
    const { ports } = world
    const kept = ports.ttlStore.of<{ count: number }>({ slice: "phone", kind: "opt-ins of a day" })
    const day = String(Math.floor(ports.clock.now() / 86_400_000))
    const expiresAt = ports.clock.now() + 1_000
    await kept.update(company.companyId, day, () => ({ content: { count: 99 }, expiresAt }))
    const hundredth = filled()
    expect(await submitOptIn(world, host, hundredth)).toMatchObject(THANKED)
    const refused = await submitOptIn(world, host, filled())
    expect([refused.status, refused.body.includes("its limit for today")]).toEqual([429, true])
    // Who agreed today is thanked again, and another company takes its own.
    expect(await submitOptIn(world, host, hundredth)).toMatchObject(THANKED)
    expect(await optInsOf(world, company)).toHaveLength(1)
    const other = await makeHostedPages(world)
    const own = { ...filled(), _time: await waitForFormTime(world, other.hostname) }
    expect(await submitOptIn(world, other.hostname, own)).toMatchObject(THANKED)
    expect(await optInsOf(world, other.company)).toHaveLength(1)
    await world.operate("clock advance", { duration: "1d" })
    expect(await submitOptIn(world, host, filled())).toMatchObject(THANKED)
  })

  it("records nothing on the preview", async () => {
    const url = `${preview}/texts`
    expect(await submitOptIn(world, "ledger.test", filled(), {}, url)).toMatchObject(THANKED)
    const thanks = await visitHost(world, "ledger.test", `${preview}/thanks`)
    expect(thanks.body).toContain("nothing was recorded")
    expect(await optInsOf(world, company)).toEqual([])
  })
})

describe("a form with a fault", () => {
  it.for<[string, Record<string, string>, string]>([
    ["no number", { phone: "" }, "Enter a mobile number"],
    ["half a number", { phone: "555" }, "Enter a mobile number"],
    ["a number that costs", { phone: "+1 900 555 0123" }, "Enter a mobile number"],
    ["a long number", { phone: "+1".padEnd(500, "5") }, "Enter a mobile number"],
    ["a long name", { firstName: "A".repeat(81) }, "at most 80"],
    ["no box", { service: "" }, "Tick at least one box"],
  ])("of %s is shown again with what was typed", async ([, changed, message]) => {
    const values = filled({ firstName: `"><i>Ada`, ...changed })
    const { service, ...rest } = values
    const { status, body } = await submitOptIn(world, host, service === "" ? rest : values)
    expect([status, body.includes(message), body.includes("<i>")]).toEqual([400, true, false])
    expect(body.includes(" checked>")).toBe(service !== "")
    if (changed["firstName"] === undefined) expect(body).toContain('value="&quot;&gt;&lt;i&gt;Ada"')
    // Whoever mends it may be quick: it is the form of the same time.
    expect(body).toContain(`value="${time}"`)
    expect(await optInsOf(world, company)).toEqual([])
  })

  it("of another form or from elsewhere is refused", async () => {
    const from = (origin: string) => submitOptIn(world, host, filled(), { origin })
    expect((await from("https://evil.example")).status).toBe(403)
    expect((await from("no address")).status).toBe(403)
    for (const origin of [`https://${host}`, "null"]) {
      expect(await from(origin)).toMatchObject(THANKED)
    }
    const json = { "content-type": "application/json" }
    const post = (headers: Record<string, string>, payload: string) =>
      visitHost(world, host, "/texts", { method: "POST", headers, payload })
    expect((await post(json, JSON.stringify(filled()))).status).toBe(415)
    const type = { "content-type": "application/x-www-form-urlencoded" }
    expect((await post(type, `a=${"x".repeat(16_384)}`)).status).toBe(413)
    expect(await optInsOf(world, company)).toHaveLength(2)
  })
})

describe("a robot", () => {
  it("is thanked like everybody, recorded never, and counted", async () => {
    const before = await countBotSubmissions(world)
    const other = await waitForFormTime(world, (await makeHostedPages(world)).hostname)
    const quick = formTimeIn((await visitHost(world, host, "/texts")).body)
    const kinds = [{ website_url: "x" }, { _time: quick }, { _time: other }, { _time: "" }]
    for (const changed of kinds) {
      expect(await submitOptIn(world, host, filled(changed))).toMatchObject(THANKED)
    }
    expect(await optInsOf(world, company)).toEqual([])
    const after = await countBotSubmissions(world)
    const more = (by: string) => (after[by] ?? 0) - (before[by] ?? 0)
    expect([more("honeypot"), more("quick"), more("unsigned")]).toEqual([1, 1, 2])
  })

  it("sends five forms in a minute from an address", async () => {
    const strict = await openWorld("start", { url: world.databaseUrl })
    freezeRateWindow(strict)
    await loadHostNames(strict)
    const statuses: number[] = []
    for (let i = 0; i < 6; i += 1) statuses.push((await submitOptIn(strict, host, filled())).status)
    await strict.close()
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429])
  })
})
