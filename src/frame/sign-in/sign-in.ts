/**
 * Signing in by an emailed code, without a password: who owns a mailbox of a company's person is that person.
 * Nothing that is answered, nor when, says whether an email is anybody's there.
 */
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { personByEmailTag } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import { listPeople } from "../../../projections/access/people.ts"
import { inTime } from "../../../adapters/providers/outside.ts"
import { CompanyErased } from "../../../adapters/sealing/port.ts"
import { NO_RATE_LIMITS, RATE_LIMITS, openRateLimits, rateSettings } from "../calls/rate-limits.ts"
import type { Refusal } from "../calls/refusal.ts"
import { companyName } from "../effects/mail-people.ts"
import { oneLine } from "../effects/mail-words.ts"
import { newId } from "../kernel/ids.ts"
import type { Ports } from "../ports.ts"
import type { AskedCode } from "./accounts-port.ts"
import { openCodes } from "./codes.ts"
import { openSessions } from "./sessions.ts"
import { newToken } from "./tokens.ts"

const READ_MODELS_WAIT_MS = 5_000

/** What people sign in to. */
export interface SignInTo {
  /** Codes and sessions of one purpose are of no use for another. */
  readonly purpose: string
  /** What it is called in the mail: `the preview`. */
  readonly called: string
}

/** Signing in. A company is null where it is not known, which nobody is told either. */
export interface SignIn {
  /** Mails a code, if the email is somebody's of the company. @param address as limits count it */
  readonly ask: (
    companyId: CompanyId | null,
    email: string,
    address: string,
  ) => AskedCode | { readonly refusal: Refusal }
  /** Signs in by a code; answers the session's token, null where the code is not right, or over. */
  readonly enter: (
    companyId: CompanyId | null,
    browser: string,
    code: string,
  ) => Promise<string | null>
  /** Who is signed in; null where nobody is. */
  readonly personOf: (companyId: CompanyId, token: string) => Promise<PersonId | null>
  readonly leave: (companyId: CompanyId, token: string) => Promise<void>
}

/** Opens it. */
export function openSignIn(ports: Ports, { purpose, called }: SignInTo): SignIn {
  const isCounted = ports.settings(rateSettings).RATE_LIMITS === "on"
  const rates = isCounted ? openRateLimits(ports) : NO_RATE_LIMITS
  const codes = openCodes<PersonId>(ports, purpose)
  const sessions = openSessions(ports, purpose)
  const send = async (companyId: CompanyId | null, email: string, browser: string) => {
    try {
      const personId = companyId === null ? null : await personWith(ports, companyId, email)
      const code = await codes.make(companyId, browser, personId)
      if (companyId !== null && personId !== null)
        await mailCode(ports, { companyId, personId, code, called })
    } catch (error) {
      ports.log.warn("a sign-in code could not be sent", error)
    }
  }
  return {
    ask: (companyId, email, address) => {
      const refusal =
        rates.refuse(RATE_LIMITS.codesFrom, address) ??
        rates.refuse(RATE_LIMITS.codesTo, ports.sealing.installationTag(email.toLowerCase()))
      if (refusal !== null) return { refusal }
      const browser = newToken()
      return { browser, sent: send(companyId, email, browser) }
    },
    enter: async (companyId, browser, code) => {
      const personId = await codes.use(companyId, browser, code)
      return companyId === null || personId === null ? null : sessions.begin(companyId, personId)
    },
    personOf: sessions.personOf,
    leave: sessions.end,
  }
}

/** Whose an email is; null for nobody's, and in a company that was deleted. */
async function personWith(
  { runner, sealing }: Ports,
  companyId: CompanyId,
  email: string,
): Promise<PersonId | null> {
  try {
    const emailTag = await sealing.tag(companyId, email.toLowerCase())
    const personId = await runner.readLatest(accessOf(companyId), (state) =>
      personByEmailTag(state, emailTag),
    )
    const deletion = await runner.read(ledgerOf(companyId), deletionOf)
    return deletion === null ? personId : null
  } catch (error) {
    if (error instanceof CompanyErased) return null
    throw error
  }
}

/** A code for a person. */
interface CodeMail {
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly code: string
  readonly called: string
}

/** Mails a code to the address that is kept: what was typed may only look like it, by its letters' case. */
async function mailCode(
  ports: Ports,
  { companyId, personId, code, called }: CodeMail,
): Promise<void> {
  await ports.projector.waitFor(await ports.store.head(), READ_MODELS_WAIT_MS, ["people"])
  const people = await ports.readAs(companyId, (db) => listPeople(db, companyId))
  const address = people.find((one) => one.person_id === personId)?.email ?? null
  if (address === null) return
  const company = oneLine(await companyName(ports, companyId))
  const lines = [
    `${code} is your code to sign in to ${called} of ${company}.`,
    "",
    "It works once, for 10 minutes, in the browser that asked for it.",
    "Did you not ask for it? Then do nothing, and tell it to nobody: without it nobody gets in.",
  ]
  const mail = {
    ...{ mailId: newId("mail"), companyId, recipients: [{ personId, address }] },
    subject: `${code} is your code for ${company}`,
    ...{ text: lines.join("\n"), about: personId },
  }
  const answer = await inTime(ports.pacer, "the mailer", ports.mailer.send(mail))
  if (answer.answer !== "taken") throw new Error(`the mailer did not take it: ${answer.answer}`)
}
