/** `kill -9` around the moment in which a mail is sent: charged once, and sent once more at most. */
import { expect, it } from "vitest"
import { chargeAmountsOf } from "../phone/text-requests.ts"
import { failpointLinesToTry, openCrashTestDatabase } from "../support/failpoint-crashes.ts"
import { RECIPIENT_MICROS, mailsOf, makeMailingCompany, postMail } from "./mail-world.ts"

const turns = await openCrashTestDatabase()

const LINES = failpointLinesToTry(
  ["provider.after=1"],
  ["provider.before=1", "provider.after=3", "append.before=2", "append.after=2", "append.after=3"],
)

it.each(LINES)("a process that ended at %s", async (line) => {
  const company = await makeMailingCompany(turns.world())
  const to = ["a@example.com", "b@example.com", "c@example.com"]
  const idempotent = { "idempotency-key": "killed" }
  const body = { from: `hello@${company.domain}`, to, subject: "Hello", text: "Hi" }
  const world = await turns.crashAt(line, async (server) => {
    await expect(postMail(server, company, body, idempotent)).rejects.toThrow("fetch failed")
  })
  const again = await postMail(world, company, body, idempotent)
  expect(again.status).toBe(200)
  await world.operate("clock advance", { duration: "30m" })
  const { emails } = await world.operate("email list", { company: company.companyId })
  expect(emails.map(({ to: one, status }: Record<string, string>) => [one, status])).toEqual(
    to.map((one) => [one, "delivered"]),
  )
  const [mail, ...others] = await mailsOf(world, company)
  expect([mail?.to.split(", ").toSorted(), others]).toEqual([to, []])
  expect(await chargeAmountsOf(world, company)).toEqual([
    { micros: 3 * RECIPIENT_MICROS, state: "final" },
  ])
})
