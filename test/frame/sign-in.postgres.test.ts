/** Sign-in with an emailed code, and attempts to circumvent it. */
import { anyTable } from "../support/read-models.ts"
import { describe, expect, it } from "vitest"
import type { TtlRecordKind, TtlRecords } from "../../adapters/postgres/ttl-store/port.ts"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parsePersonId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { CODE_LIFETIME_MS, MAX_CODE_ATTEMPTS } from "../../src/frame/sign-in/codes.ts"
import { SESSION_LIFETIME_MS, openCompanySignIn } from "../../src/frame/sign-in/company-sign-in.ts"
import { addPerson, makeCompany, ownWorld } from "../support/world.ts"

const TO = { purpose: "test", displayName: "the test" } as const
const SECOND_MS = 1_000
const OWNER = "owner@example.com"

const world = await ownWorld("settings", { settings: { RATE_LIMITS: "off" } })
const company = await makeCompany(world)
const uncounted = openCompanySignIn(world.ports, TO)

const person = (email?: string) =>
  addPerson(world, company, { role: "user", ...(email === undefined ? {} : { email }) })

const mailsOf = async (companyId: CompanyId = company.companyId) =>
  world.ports.simulatedMails.list(companyId, 100)

/** Requests a code; returns the browser's token and the mailed code. */
async function requestCode(
  email: string,
  { signIn = uncounted, companyId = company.companyId } = {},
): Promise<{ browser: string; code: string }> {
  const before = new Set((await mailsOf()).map(({ mailId }) => mailId))
  const one = signIn.requestCode(companyId, email, "203.0.113.1")
  if ("refusal" in one) throw new Error(one.refusal.message)
  await one.mailSent
  const mail = (await mailsOf()).find(({ mailId }) => !before.has(mailId))
  return { browser: one.browserToken, code: /^\d{6}/.exec(mail?.subject ?? "")?.[0] ?? "none" }
}

const enter = (browser: string, code: string, signIn = uncounted) =>
  signIn.signInWithCode(company.companyId, browser, code)
const wrong = (code: string) => (code === "000000" ? "000001" : "000000")

async function signedIn(email = OWNER): Promise<string> {
  const { browser, code } = await requestCode(email)
  const token = await enter(browser, code)
  expect(token).toMatch(/^[\w-]{43}$/)
  return token as string
}

describe("a code", () => {
  it("is mailed to the person, and signs them in", async () => {
    const { personId, email } = await person()
    const { browser, code } = await requestCode(email.toUpperCase())
    const mail = (await mailsOf()).find(({ to }) => to.includes(email))
    const { name } = await world.operate("company show", { company: company.companyId })
    expect(mail).toMatchObject({ to: [email], subject: `${code} is your code for ${name}` })
    expect(mail?.text).toContain(`${code} is your code to sign in to the test of ${name}.`)
    const token = await enter(browser, code)
    expect(await uncounted.personOf(company.companyId, token ?? "")).toBe(personId)
  })

  it("goes to the stored address, even if the request's letters only match in lower case", async () => {
    const { email } = await person("kim@example.com")
    await requestCode("\u212aim@example.com")
    expect((await mailsOf()).filter(({ to }) => to.includes(email))).toHaveLength(1)
  })

  it("can be used once, even in concurrent attempts", async () => {
    const { browser, code } = await requestCode(OWNER)
    const entered = await Promise.all(Array.from({ length: 8 }, () => enter(browser, code)))
    expect(entered.filter((token) => token !== null)).toHaveLength(1)
    expect(await enter(browser, code)).toBeNull()
  })

  it("allows five attempts", async () => {
    const { browser, code } = await requestCode(OWNER)
    for (let tries = 1; tries < MAX_CODE_ATTEMPTS; tries += 1) {
      expect(await enter(browser, wrong(code))).toBeNull()
    }
    const other = await requestCode(OWNER)
    for (let tries = 0; tries < MAX_CODE_ATTEMPTS; tries += 1) {
      expect(await enter(other.browser, wrong(other.code))).toBeNull()
    }
    expect(await enter(other.browser, other.code)).toBeNull()
    expect(await enter(browser, code)).not.toBeNull()
  })

  it("allows five attempts, even if they are concurrent", async () => {
    const { browser, code } = await requestCode(OWNER)
    const guesses = Array.from({ length: 20 }, () => wrong(code))
    await Promise.all(guesses.map((guess) => enter(browser, guess)))
    expect(await enter(browser, code)).toBeNull()
  })

  it("does not work in another browser, at another company, or for another purpose", async () => {
    const { browser, code } = await requestCode(OWNER)
    const other = await requestCode(OWNER)
    expect(await enter(other.browser, code)).toBeNull()
    expect(await enter("", code)).toBeNull()
    const elsewhere = await makeCompany(world)
    expect(await uncounted.signInWithCode(elsewhere.companyId, browser, code)).toBeNull()
    const console = openCompanySignIn(world.ports, { ...TO, purpose: "another" })
    expect(await enter(browser, code, console)).toBeNull()
    const token = (await enter(browser, code)) ?? ""
    expect(await console.personOf(company.companyId, token)).toBeNull()
    expect(await uncounted.personOf(elsewhere.companyId, token)).toBeNull()
  })

  it("expires after ten minutes", async () => {
    const [early, late] = [await requestCode(OWNER), await requestCode(OWNER)]
    await advance(CODE_LIFETIME_MS - SECOND_MS)
    expect(await enter(early.browser, early.code)).not.toBeNull()
    await advance(SECOND_MS)
    expect(await enter(late.browser, late.code)).toBeNull()
  })

  it("does not work for a person who was removed meanwhile", async () => {
    const { personId, email } = await person()
    const { browser, code } = await requestCode(email)
    await world.operate("person remove", { personId })
    const token = await enter(browser, code)
    expect(await uncounted.personOf(company.companyId, token ?? "")).toBeNull()
  })

  it("is not mailed for a deleted company", async () => {
    const { companyId } = await makeCompany(world)
    await world.operate("company delete", { company: companyId })
    const before = (await mailsOf(companyId)).length
    await requestCode(OWNER, { companyId })
    expect(await mailsOf(companyId)).toHaveLength(before)
  })
})

const advance = async (ms: number) =>
  world.operate("clock advance", { duration: `${ms / SECOND_MS}s` })

describe("a session", () => {
  it("lasts twelve hours", async () => {
    const token = await signedIn()
    await advance(SESSION_LIFETIME_MS - SECOND_MS)
    expect(await uncounted.personOf(company.companyId, token)).toBe(company.ownerId)
    await advance(SECOND_MS)
    expect(await uncounted.personOf(company.companyId, token)).toBeNull()
  })

  it("ends immediately when its person is removed or signs out", async () => {
    const { personId, email } = await person()
    const [removed, left] = [await signedIn(email), await signedIn()]
    expect(await uncounted.personOf(company.companyId, removed)).toBe(personId)
    await world.operate("person remove", { personId })
    expect(await uncounted.personOf(company.companyId, removed)).toBeNull()
    expect(parsePersonId((await uncounted.personOf(company.companyId, left)) ?? "")).not.toBeNull()
    await uncounted.signOut(company.companyId, left)
    expect(await uncounted.personOf(company.companyId, left)).toBeNull()
  })

  it("that ended in another process ends ten seconds later in this one", async () => {
    let elapsed = 0
    const pacer = { ...world.ports.pacer, elapsedMs: () => elapsed }
    const elsewhere = openCompanySignIn({ ...world.ports, pacer }, TO)
    const token = await signedIn()
    expect(await elsewhere.personOf(company.companyId, token)).toBe(company.ownerId)
    await uncounted.signOut(company.companyId, token)
    elapsed = 9_999
    expect(await elsewhere.personOf(company.companyId, token)).toBe(company.ownerId)
    elapsed = 10_000
    expect(await elsewhere.personOf(company.companyId, token)).toBeNull()
  })

  it("is stored only as a hash, like codes", async () => {
    const { browser, code } = await requestCode(OWNER)
    const rows = async () => JSON.stringify(await storedRecords(world.ports))
    expect(await rows()).not.toMatch(new RegExp(`${browser}|\\b${code}\\b`))
    const token = (await enter(browser, code)) ?? ""
    expect(await rows()).toContain("test session")
    expect(await rows()).not.toContain(token)
  })
})

async function storedRecords({ readAll }: Ports): Promise<unknown> {
  return anyTable(readAll)
    .selectFrom("ledger.expiring_records")
    .selectAll()
    .where("slice", "=", "sign-in")
    .execute()
}

describe("a stranger", () => {
  /** The accesses to the TTL store during a sign-in, in order. */
  async function stepsOf(companyId: CompanyId | null, email: string): Promise<readonly string[]> {
    const steps: string[] = []
    const of = <T extends object>(kind: TtlRecordKind): TtlRecords<T> => {
      const things = world.ports.ttlStore.of<T>(kind)
      const noting =
        <A extends unknown[], R>(name: string, act: (...given: A) => R) =>
        (...given: A): R => {
          steps.push(name)
          return act(...given)
        }
      return {
        find: noting("find", things.find),
        update: noting("change", things.update),
        delete: noting("forget", things.delete),
      }
    }
    const signIn = openCompanySignIn(
      { ...world.ports, ttlStore: { ...world.ports.ttlStore, of } },
      TO,
    )
    const one = signIn.requestCode(companyId, email, "203.0.113.1")
    if ("refusal" in one) throw new Error(one.refusal.message)
    await one.mailSent
    expect(one.browserToken).toMatch(/^[\w-]{43}$/)
    for (let tries = 0; tries <= MAX_CODE_ATTEMPTS; tries += 1) {
      expect(await signIn.signInWithCode(companyId, one.browserToken, "nocode")).toBeNull()
    }
    return steps
  }

  it("gets no mail, and the accesses are the same as for a known person", async () => {
    const before = (await mailsOf()).length
    const none = await stepsOf(company.companyId, "unknown@example.com")
    expect(await mailsOf()).toHaveLength(before)
    expect(none).toEqual([
      "change",
      ...Array.from({ length: MAX_CODE_ATTEMPTS + 1 }, () => ["find", "change"]).flat(),
    ])
    expect(await stepsOf(null, OWNER)).toEqual(none)
    expect(await stepsOf(company.companyId, OWNER)).toEqual(none)
  })

  it("is answered before the person is looked up, like everyone", async () => {
    const asleep = Promise.withResolvers<never>()
    const runner = { ...world.ports.runner, readLatest: () => asleep.promise }
    const signIn = openCompanySignIn({ ...world.ports, runner }, TO)
    expect(signIn.requestCode(company.companyId, OWNER, "203.0.113.1")).toMatchObject({
      browserToken: expect.any(String) as string,
    })
  })
})

describe("the rate limit of codes", () => {
  const counted = () => {
    const settings: Ports["settings"] = ({ schema }) => schema.parse({})
    return openCompanySignIn({ ...world.ports, settings }, TO)
  }

  it("is three a minute for an email address, known or not", async () => {
    for (const email of ["owner@example.com", "unknown@example.com"]) {
      const signIn = counted()
      const ask = (text: string, at: number) =>
        signIn.requestCode(company.companyId, text, `203.0.113.${at}`)
      const first = [1, 2, 3].map((at) => ask(email, at))
      expect(first.every((one) => "mailSent" in one)).toBe(true)
      expect(ask(email.toUpperCase(), 4)).toMatchObject({
        refusal: { status: 429, headers: { "retry-after": "60" } },
      })
      await Promise.all(first.map((one) => ("mailSent" in one ? one.mailSent : null)))
    }
  })

  it("is twenty a minute for an IP address", async () => {
    const signIn = counted()
    const ask = (at: number) => signIn.requestCode(null, `a${at}@example.com`, "203.0.113.1")
    const first = Array.from({ length: 20 }, (_, i) => ask(i))
    expect(first.every((one) => "mailSent" in one)).toBe(true)
    expect(ask(20)).toMatchObject({ refusal: { error: "rate_limited" } })
    await Promise.all(first.map((one) => ("mailSent" in one ? one.mailSent : null)))
  })
})

describe("a mailer that fails", () => {
  it("is logged but not reported to the browser", async () => {
    const away = async () => {
      throw new ProviderUnavailable("away")
    }
    for (const sendSystemMail of [
      away,
      async () => ({ answer: "rejected", code: "no" }) as const,
    ]) {
      const warnings: string[] = []
      const log = { ...world.ports.log, warn: (message: string) => void warnings.push(message) }
      const signIn = openCompanySignIn(
        { ...world.ports, log, mailer: { ...world.ports.mailer, sendSystemMail } },
        TO,
      )
      const one = signIn.requestCode(company.companyId, OWNER, "203.0.113.1")
      await ("mailSent" in one ? one.mailSent : null)
      expect(warnings).toEqual(["a sign-in code could not be sent"])
    }
  })
})
