/** What a company does with its phone, mail, domains and forms, so that their pages have something to show. */
import type { Opened } from "./in-chromium.ts"

/** Whom the company texts. */
const CUSTOMER = "+14155550123"
/** Who texted STOP. */
const STOPPED = "+14155550199"

/** Calls the API with a key. */
export interface Caller {
  readonly ask: <T>(method: string, path: string, body?: object) => Promise<T>
}

/** Makes a key of the owner's for all operations, and calls by it. */
export async function callerOf({ place, server }: Opened): Promise<Caller> {
  const { people } = await place.ledger("person", "list", "--company", "acme")
  const whose = ["--company", "acme", "--person", people[0].personId]
  const { key } = await place.ledger("key", "create", ...whose, "--all-operations")
  return {
    ask: async <T>(method: string, path: string, body?: object): Promise<T> => {
      const response = await fetch(`${server.url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const answer = (await response.json()) as T
      if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`)
      return answer
    },
  }
}

/** Texts in both directions, one that failed, an opt-out of either kind, and calls with a message. */
export async function phoneSomething({ place }: Opened, { ask }: Caller): Promise<void> {
  const { numbers } = await ask<{ numbers: { id: string; number: string }[] }>(
    "GET",
    "/phone/state",
  )
  const number = numbers[0]?.number ?? ""
  const send = (to: string, body: string) =>
    ask<{ id: string }>("POST", "/phone/messages", { to, body })
  await send(CUSTOMER, "Your order is ready for pick-up.")
  const failing = await send(STOPPED, "We open at 7 tomorrow.")
  await place.ledger("wait")
  await place.ledger("carrier", "deliver", failing.id, "--status", "failed", "--code", "30003")
  const textIn = (from: string, body: string) =>
    place.ledger("carrier", "text-in", "--from", from, "--to", number, "--body", body)
  await textIn(CUSTOMER, "Thanks! I will come at five. <b>Ada</b>")
  await textIn(STOPPED, "STOP")
  await ask("POST", "/phone/opt-outs", { phone: "+14155550177" })
  const callIn = ["carrier", "call-in", "--from", CUSTOMER, "--to", number]
  await place.ledger(...callIn, "--outcome", "voicemail", "--seconds", "40")
  await place.ledger(...callIn, "--outcome", "missed")
  await place.ledger("wait")
}

/** A connected domain, a mail from it, and somebody who must not be written to. */
export async function mailSomething({ place }: Opened, { ask }: Caller): Promise<void> {
  const { id } = await ask<{ id: string }>("POST", "/domain", { domain: "acme.example" })
  await ask("POST", "/domain", { check: true, domainId: id })
  await place.ledger("wait")
  const sender = { action: "add", domainId: id, domain: "acme.example" }
  const added = await ask<{ id: string }>("POST", "/email/domains", sender)
  await place.ledger("wait")
  await ask("POST", "/email/domains", { action: "check", id: added.id })
  const mail = { from: "Acme <hello@acme.example>", subject: "Your order", text: "It is ready." }
  await ask("POST", "/email/send", { ...mail, to: ["grace@example.com", "joan@example.com"] })
  await place.ledger("stand-in", "set", "mail", "bounce", "--times", "1")
  await ask("POST", "/email/send", { ...mail, to: "gone@example.com" })
  await place.ledger("wait")
}

/** A form, and what came by it. */
export async function askSomething({ place }: Opened): Promise<void> {
  const acme = ["--company", "acme"]
  const { formId } = await place.ledger("form", "add", ...acme, "--name", "Contact us")
  const lead = ["lead", "add", ...acme, "--form", formId]
  const ada = ["--first-name", "Ada", "--last-name", "Lane", "--email", "ada.lane@example.com"]
  const wants = ["--message", "A cake for <script>alert(1)</script> twelve, please.\nOn Friday."]
  const fields = ["--field", "budget=200", "--field", "pageUrl=javascript:alert(1)"]
  await place.ledger(...lead, ...ada, ...wants, ...fields, "--field", "utm_source=newsletter")
  await place.ledger(...lead, "--first-name", "Grace", "--phone", "+1 415 555 0188")
}
