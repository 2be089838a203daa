/** `kill -9` around the sending of a mail: it is charged once, and sent again at most once. */
import { expect, it } from "vitest"
import { chargeAmountsOf } from "../phone/text-requests.ts"
import { failpointLinesToTry, openCrashTestDatabase } from "../support/failpoint-crashes.ts"
import { RECIPIENT_MICROS, mailsOf, makeMailingCompany, postMail } from "./mail-world.ts"

const crashes = await openCrashTestDatabase()

const LINES = failpointLinesToTry(
  ["provider.after=1"],
  ["provider.before=1", "provider.after=3", "append.before=2", "append.after=2", "append.after=3"],
)

it.each(LINES)("a mail is charged and delivered once if the process ends at %s", async (line) => {
  const company = await makeMailingCompany(crashes.world())
  const to = ["a@example.com", "b@example.com", "c@example.com"]
  const idempotent = { "idempotency-key": "killed" }
  const body = { from: `hello@${company.domain}`, to, subject: "Hello", text: "Hi" }
  const world = await crashes.crashAt(line, async (server) => {
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
