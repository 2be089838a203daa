/** Companies that send mail, for tests. */
import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import type { SendingDomainId } from "../../domain/domains/domain-events.ts"
import { parseDomainId, parseSendingDomainId } from "../../domain/domains/domain-events.ts"
import { type CompanyId, parseStored } from "../../domain/kernel/ids.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import { type ApiAnswer, type Company, type World, makeCompany } from "../support/world.ts"

/** The route that sends mail. */
const SEND = "/api/v1/email/send"

/** Price of one recipient, in micro-dollars. */
export const RECIPIENT_MICROS = 1_000

let companies = 0

export interface MailingCompany extends Company {
  /** The sending domain's name. */
  readonly domain: string
  readonly sendingDomainId: SendingDomainId
  /** The public key of its DKIM record. */
  readonly publicKey: string
}

/** A company with a verified sending domain, `mail.` below its connected one. */
export async function makeMailingCompany(world: World): Promise<MailingCompany> {
  const company = await makeCompany(world)
  companies += 1
  const name = `acme${companies}.example`
  return { ...company, ...(await addVerifiedDomain(world.ports, company.companyId, name)) }
}

/** Connects a domain and verifies a sending domain below it, as a successful check would. */
export async function addVerifiedDomain(
  { runner, dkimKeys }: Ports,
  companyId: CompanyId,
  name: string,
): Promise<Pick<MailingCompany, "domain" | "sendingDomainId" | "publicKey">> {
  const domainId = parseStored(parseDomainId, newId("dom"))
  const sendingDomainId = parseStored(parseSendingDomainId, newId("sdom"))
  const domain = `mail.${name}`
  const { selector, publicKey } = await dkimKeys.getOrCreate({ companyId, sendingDomainId })
  const stream = domainStreamOf(companyId, domainId)
  const cause = causedBy("test")
  await runner.execute(
    DOMAIN_RESERVATIONS_STREAM,
    { type: "ReserveDomain", domainId, companyId, name },
    cause,
  )
  await runner.execute(
    stream,
    {
      type: "ConnectDomain",
      domainId,
      name,
      nameServers: ["ns1.ledger.test"],
      formerNameServers: [],
      registrar: null,
      dnssecOn: false,
      queriedNames: null,
      omitted: [],
      records: [],
    },
    cause,
  )
  const add = { type: "AddSendingDomain", sendingDomainId, name: domain, records: [] } as const
  await runner.execute(stream, { ...add, selector, publicKey }, cause)
  const passed = {
    type: "CheckSendingDomain",
    sendingDomainId,
    faults: [],
    hasDmarc: true,
  } as const
  await runner.execute(stream, passed, cause)
  return { domain, sendingDomainId, publicKey }
}

/** Sends a mail, by default to `ada@example.com`. */
export function postMail(
  world: Pick<World, "call">,
  { key, domain }: Pick<MailingCompany, "key" | "domain">,
  mail: object = {},
  headers: Record<string, string> = {},
): Promise<ApiAnswer> {
  const defaults = { from: `Acme <hello@${domain}>`, to: "ada@example.com", subject: "Hello" }
  return world.call(key, "POST", SEND, { body: { ...defaults, text: "Hi", ...mail }, headers })
}

/** Sets what the simulated mailer does next. */
export const setMailerOutcome = (world: World, outcome: string, times?: number) =>
  world.operate("simulator set", {
    name: "mail",
    outcome,
    ...(times === undefined ? {} : { times }),
  })

/** The mails of a company that the simulated mailer accepted. */
export async function mailsOf(
  world: World,
  { companyId }: Pick<Company, "companyId">,
): Promise<readonly { readonly to: string; readonly subject: string; readonly text: string }[]> {
  return (await world.operate("mail list", { company: companyId })).mails
}
