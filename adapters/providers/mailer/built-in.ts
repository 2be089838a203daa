/**
 * The built-in mailer: it takes every mail, remembers it in PostgreSQL and sends nothing out of this
 * machine. What it does next can be set (`stand-in set mail …`).
 *
 * What it remembers is sealed: subject and text for the company or for whom they are about, each
 * address for its own person, so that whoever is erased is erased here too.
 */
import type { Pool } from "pg"
import type { Clock, Pacer } from "../../clock/port.ts"
import type { Sealing } from "../../sealing/port.ts"
import { COMPANY_SUBJECT } from "../../sealing/port.ts"
import type { StandIns } from "../simulators/port.ts"
import type { Mail, MailAnswer, Mailer, SentMail, SentMails } from "./port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"

const SLOW_MS = 2_000
/** What mail servers say to a mail that they do not want. */
const REFUSED_CODE = "550"

interface Row {
  readonly mail_id: string
  readonly company_id: string
  readonly subject: string
  readonly body: string
  readonly taken_at: Date
  readonly addresses: readonly string[]
  readonly bounced: boolean
}

/** What the built-in mailer works with. */
export interface MailerPorts {
  readonly pool: Pool
  readonly standIns: StandIns
  readonly pacer: Pacer
  readonly clock: Clock
  readonly sealing: Sealing
}

/** The built-in mailer. Its `send` throws ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInMailer(ports: MailerPorts): Mailer & SentMails {
  const { pool, standIns, pacer, sealing } = ports
  return {
    send: async (mail): Promise<MailAnswer> => {
      const outcome = await standIns.next("mail")
      if (outcome === "unavailable") throw new ProviderUnavailable("the mailer answered 503")
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      if (outcome === "refuse") return { answer: "refused", code: REFUSED_CODE }
      await take(ports, mail, outcome === "bounce")
      if (outcome === "silent") throw new ProviderSilent("the mailer did not answer")
      const { rows } = await pool.query<{ person_id: string }>(
        "select person_id from ledger.mail_recipients where mail_id = $1 and bounced order by place",
        [mail.mailId],
      )
      const from = rows.map((row) => row.person_id)
      return from.length === 0 ? { answer: "taken" } : { answer: "bounced", from }
    },
    list: async (companyId, limit) => {
      const { rows } = await pool.query<Row>(LIST, [companyId, limit])
      return Promise.all(rows.map((row) => opened(sealing, row)))
    },
  }
}

/** One statement: the mail as it came first, and whoever has not got it yet. */
const TAKE = `
  with taken as (
    insert into ledger.mails (mail_id, company_id, subject, body, taken_at)
    values ($1, $2, $3, $4, to_timestamp($5::float8 / 1000))
    on conflict (mail_id) do nothing)
  insert into ledger.mail_recipients as old (mail_id, person_id, address, bounced)
  select $1, person_id, address, $8
  from unnest($6::text[], $7::text[]) as given (person_id, address)
  on conflict (mail_id, person_id) do update
  set address = excluded.address, bounced = excluded.bounced where old.bounced`

const LIST = `
  select newest.*, reached.addresses, reached.bounced
  from (
    select * from ledger.mails where $1::text is null or company_id = $1
    order by place desc limit $2) newest
  cross join lateral (
    select array_agg(address order by place) as addresses, bool_or(bounced) as bounced
    from ledger.mail_recipients where mail_id = newest.mail_id) reached
  order by newest.place`

async function take({ pool, clock, sealing }: MailerPorts, mail: Mail, bounced: boolean) {
  const { mailId, companyId, recipients, about } = mail
  const [subject, body, ...addresses] = await Promise.all([
    sealing.seal(companyId, about ?? COMPANY_SUBJECT, mail.subject),
    sealing.seal(companyId, about ?? COMPANY_SUBJECT, mail.text),
    ...recipients.map(({ personId, address }) => sealing.seal(companyId, personId, address)),
  ])
  const people = recipients.map(({ personId }) => personId)
  const values = [mailId, companyId, subject, body, clock.now(), people, addresses, bounced]
  await pool.query(TAKE, values)
}

async function opened(sealing: Sealing, row: Row): Promise<SentMail> {
  const { company_id: companyId, bounced, taken_at: at } = row
  const open = (sealed: string) => sealing.open(companyId, sealed)
  const addresses = await Promise.all(row.addresses.map(open))
  return {
    mailId: row.mail_id,
    companyId,
    to: addresses.filter((address) => address !== null),
    subject: await open(row.subject),
    text: await open(row.body),
    at,
    bounced,
  }
}
