/** `kill -9` around the moment in which a mail is handed over: charged once, and handed over once more at most. */
import { afterAll, expect, it } from "vitest"
import type { Failpoint } from "../../adapters/failpoints/failpoints.ts"
import { isDeep } from "../charging/runs.ts"
import { chargesOf } from "../phone/texting.ts"
import { testDatabase } from "../support/postgres.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import { openWorld } from "../support/world.ts"
import { RECIPIENT, SEND, mailsOf, makeMailing, sendMail } from "./mailing.ts"

const places: Place[] = []
afterAll(async () => {
  for (const place of places) await place.clear()
})

const ALL = [
  "provider.before=1",
  "provider.after=1",
  "provider.after=3",
  "append.before=2",
  "append.after=2",
  "append.after=3",
] as const satisfies readonly `${Failpoint}=${number}`[]
/** Every third one where there is little time: `LEDGER_DEEP=1` dies at all. */
const AT = isDeep ? ALL : ALL.filter((_, i) => i % 3 === 1)

it.each(AT)(
  "a process that ended at %s",
  async (failpoint) => {
    const database = await testDatabase()
    const setting = await openWorld("start", { url: database.url })
    const company = await makeMailing(setting)
    await setting.close()
    const place = await makePlace({
      DATABASE_URL: database.url,
      LEDGER_CLOCK: "test",
      NODE_ENV: "test",
      LEDGER_FAILPOINTS: failpoint,
    })
    places.push(place)
    const server = await place.start()
    const to = ["a@example.com", "b@example.com", "c@example.com"]
    const idempotent = { "idempotency-key": "killed" }
    const body = { from: `hello@${company.domain}`, to, subject: "Hello", text: "Hi" }
    const lost = fetch(`${server.url}${SEND}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${company.key}`,
        "content-type": "application/json",
        ...idempotent,
      },
      body: JSON.stringify(body),
    })
    await expect(lost).rejects.toThrow("fetch failed")
    expect(await server.ended).toBeNull()
    const world = await openWorld("start", { url: database.url })
    const again = await sendMail(world, company, body, idempotent)
    expect(again.status).toBe(200)
    await world.operate("clock advance", { duration: "30m" })
    const { emails } = await world.operate("email list", { company: company.companyId })
    expect(emails.map(({ to: one, status }: Record<string, string>) => [one, status])).toEqual(
      to.map((one) => [one, "delivered"]),
    )
    const [mail, ...others] = await mailsOf(world, company)
    expect([mail?.to.split(", ").toSorted(), others]).toEqual([to, []])
    expect(await chargesOf(world, company)).toEqual([{ micros: 3 * RECIPIENT, state: "final" }])
    await world.close()
    await database.drop()
  },
  120_000,
)
