/** What a company does with its phone, mail, domains and forms, so that their pages have something to show. */
import type { Place } from "./in-chromium.ts"

/** Whom the company texts. */
const CUSTOMER = "+14155550123"
/** Who texted STOP. */
const STOPPED = "+14155550199"

/** Calls the API with a key. */
export interface Caller {
  readonly ask: <T>(method: string, path: string, body?: object) => Promise<T>
}

/** Makes a key of the owner's for all operations, and calls by it. */
export async function callerOf({ world, url, company, ownerId }: Place): Promise<Caller> {
  const whose = { company, person: ownerId }
  const { key } = await world.operate("key create", { ...whose, allOperations: true })
  return {
    ask: async <T>(method: string, path: string, body?: object): Promise<T> => {
      const response = await fetch(`${url}/api/v1${path}`, {
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
export async function phoneSomething({ world }: Place, { ask }: Caller): Promise<void> {
  const { numbers } = await ask<{ numbers: { id: string; number: string }[] }>(
    "GET",
    "/phone/state",
  )
  const number = numbers[0]?.number ?? ""
  const send = (to: string, body: string) =>
    ask<{ id: string }>("POST", "/phone/messages", { to, body })
  await send(CUSTOMER, "Your order is ready for pick-up.")
  const failing = await send(STOPPED, "We open at 7 tomorrow.")
  await world.operate("wait")
  const failed = { messageId: failing.id, status: "failed", code: "30003" }
  await world.operate("carrier deliver", failed)
  const textIn = (from: string, body: string) =>
    world.operate("carrier text-in", { from, to: number, body })
  await textIn(CUSTOMER, "Thanks! I will come at five. <b>Ada</b>")
  await textIn(STOPPED, "STOP")
  await ask("POST", "/phone/opt-outs", { phone: "+14155550177" })
  const call = { from: CUSTOMER, to: number }
  await world.operate("carrier call-in", { ...call, outcome: "voicemail", seconds: "40" })
  await world.operate("carrier call-in", { ...call, outcome: "missed" })
  await world.operate("wait")
}

/** A connected domain, a mail from it, and somebody who must not be written to. */
export async function mailSomething({ world }: Place, { ask }: Caller): Promise<void> {
  const { id } = await ask<{ id: string }>("POST", "/domain", { domain: "acme.example" })
  await ask("POST", "/domain", { check: true, domainId: id })
  await world.operate("wait")
  const sender = { action: "add", domainId: id, domain: "acme.example" }
  const added = await ask<{ id: string }>("POST", "/email/domains", sender)
  await world.operate("wait")
  await ask("POST", "/email/domains", { action: "check", id: added.id })
  const mail = { from: "Acme <hello@acme.example>", subject: "Your order", text: "It is ready." }
  await ask("POST", "/email/send", { ...mail, to: ["grace@example.com", "joan@example.com"] })
  await world.operate("stand-in set", { name: "mail", outcome: "bounce", times: 1 })
  await ask("POST", "/email/send", { ...mail, to: "gone@example.com" })
  await world.operate("wait")
}

/** A form, and what came by it. */
export async function askSomething({ world, company }: Place): Promise<void> {
  const { formId: form } = await world.operate("form add", { company, name: "Contact us" })
  await world.operate("lead add", {
    company,
    form,
    firstName: "Ada",
    lastName: "Lane",
    email: "ada.lane@example.com",
    message: "A cake for <script>alert(1)</script> twelve, please.\nOn Friday.",
    fields: ["budget=200", "pageUrl=javascript:alert(1)", "utm_source=newsletter"],
  })
  await world.operate("lead add", { company, form, firstName: "Grace", phone: "+1 415 555 0188" })
}
