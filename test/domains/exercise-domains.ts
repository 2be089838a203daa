/** Gives a company a live domain with everything, so that all of its read models have rows. */
import { expect } from "vitest"
import { suppressionsStreamOf } from "../../domain/email/aggregates.ts"
import type { Company, World } from "../support/world.ts"
import { SENDING_DOMAINS_PATH, newDomainName, postDomain } from "./domain-world.ts"

/** Connects a domain, saves an app address, sends a mail, and suppresses a bounced recipient. */
export async function exerciseDomains(world: World, company: Company): Promise<void> {
  const domain = newDomainName()
  const { body } = await postDomain(world, company, { domain })
  // The DNS simulator reads the zones of the name server.
  await world.operate("wait")
  const checked = await postDomain(world, company, { check: true })
  expect(checked).toMatchObject({ status: 200, body: { status: "live" } })
  const hostname = `app.${domain}`
  await postDomain(world, company, { action: "save_app_address", domainId: body.id, hostname })
  await world.operate("wait")
  const listed = await world.call(company.key, "GET", SENDING_DOMAINS_PATH)
  const check = { action: "check", id: listed.body.domains[0].id }
  await world.call(company.key, "POST", SENDING_DOMAINS_PATH, { body: check })
  const mail = { from: `hello@${domain}`, to: "ada@example.com", subject: "Hello", text: "Hello" }
  await world.call(company.key, "POST", "/api/v1/email/send", { body: mail })
  await suppress(world, company, "bounced@example.com")
  await world.operate("wait")
}

/** Suppresses a recipient after a bounce. */
async function suppress({ ports }: World, { companyId }: Company, address: string): Promise<void> {
  const tag = await ports.sealing.tag(companyId, address)
  const to = await ports.sealing.seal(companyId, tag, address)
  const bounce = { tag, to, reason: "bounced", sendingDomainId: null } as const
  const cause = { command: "test", actor: "test", keyId: null, personId: null, reason: null }
  const command = { type: "SuppressRecipient", ...bounce } as const
  expect(await ports.runner.execute(suppressionsStreamOf(companyId), command, cause)).toMatchObject(
    {
      accepted: true,
    },
  )
}
