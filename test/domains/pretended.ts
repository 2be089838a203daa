/** A company with a domain that is live and has everything: for read models, which have rows of all of it. */
import { expect } from "vitest"
import { suppressionsOf } from "../../domain/email/aggregates.ts"
import type { Company, World } from "../support/world.ts"
import { SENDING, freshName, post } from "./domain-world.ts"

/** Connects a domain, saves a web address, sends a mail, and has one come back. */
export async function useDomains(world: World, company: Company): Promise<void> {
  const domain = freshName()
  const { body } = await post(world, company, { domain })
  // The built-in world of names sees what the name server serves.
  await world.operate("wait")
  const checked = await post(world, company, { check: true })
  expect(checked).toMatchObject({ status: 200, body: { status: "live" } })
  const hostname = `app.${domain}`
  await post(world, company, { action: "save_app_address", domainId: body.id, hostname })
  await world.operate("wait")
  const listed = await world.call(company.key, "GET", SENDING)
  const check = { action: "check", id: listed.body.domains[0].id }
  await world.call(company.key, "POST", SENDING, { body: check })
  const mail = { from: `hello@${domain}`, to: "ada@example.com", subject: "Hello", text: "Hello" }
  await world.call(company.key, "POST", "/api/v1/email/send", { body: mail })
  await suppress(world, company, "nobody@example.com")
  await world.operate("wait")
}

/** Has a mail come back: its recipient is not written to any more. */
async function suppress({ ports }: World, { companyId }: Company, address: string): Promise<void> {
  const tag = await ports.sealing.tag(companyId, address)
  const to = await ports.sealing.seal(companyId, tag, address)
  const said = { tag, to, reason: "bounced", sendingDomainId: null } as const
  const cause = { command: "test", actor: "test", keyId: null, personId: null, reason: null }
  const command = { type: "SuppressRecipient", ...said } as const
  expect(await ports.runner.execute(suppressionsOf(companyId), command, cause)).toMatchObject({
    accepted: true,
  })
}
