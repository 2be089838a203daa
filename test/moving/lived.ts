import { addVerified } from "../email/mailing.ts"
import { makeCompany, openWorld } from "../support/world.ts"

/** The path of texts. */
export const TEXTS = "/api/v1/phone/messages"

/** An installation in which something of every kind happened. */
export async function lived(place: { readonly url: string; readonly eventStoreUrl?: string }) {
  const world = await openWorld("time", place)
  const company = await makeCompany(world)
  const { companyId, key } = company
  const body = { to: "+14155550101", body: "hello" }
  await world.call(key, "POST", TEXTS, { body, headers: { "idempotency-key": "one" } })
  // A sending domain has a key that is no fact.
  await addVerified(world.ports, companyId, "acme.example")
  await world.operate("stand-in set", { name: "carrier", outcome: "silent", times: 1 })
  await world.operate("limit set", {
    company: companyId,
    class: "ai",
    period: "week",
    dollars: "5",
    reminders: ["0.10"],
  })
  const charge = { company: companyId, class: "ai", dollars: "0.42", item: "chat", id: "run-1" }
  await world.operate("charge", charge)
  await world.operate("wait")
  // The signing key is made behind a start, and not after the backup.
  await world.ports.housekeep()
  return { world, ...company }
}
