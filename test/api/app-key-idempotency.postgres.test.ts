/** Whose an `Idempotency-Key` is through the app's shared key: each signed-in person's own. */
import { expect, it } from "vitest"
import type { PersonId } from "../../domain/kernel/ids.ts"
import { callWithAppKey } from "../access/sign-in-headers.ts"
import { MESSAGES_PATH, chargeAmountsOf, newPhoneNumber } from "../phone/text-requests.ts"
import { addPerson, makeCompany, makeKey, sharedWorld } from "../support/world.ts"
import { newIdempotencyKey } from "./interrupted-requests.ts"

const world = await sharedWorld()
const company = await makeCompany(world)
const shared = await makeKey(world, company, { app: true })
const { personId: other } = await addPerson(world, company, { role: "admin" })

const body = JSON.stringify({ to: newPhoneNumber(), body: "the same words" })

/** Sends the same text by a name; who is signed in, null for nobody. */
async function send(personId: PersonId | null, name: string, sent = body) {
  const named = { "idempotency-key": name }
  const {
    status,
    headers,
    body: answer,
  } = personId === null
    ? await world.call(shared.key, "POST", MESSAGES_PATH, {
        body: sent,
        headers: { ...named, "content-type": "application/json" },
      })
    : await callWithAppKey(
        world,
        shared,
        { method: "POST", url: MESSAGES_PATH, body: sent, personId },
        named,
      )
  return { status, isReplay: headers["idempotency-replayed"] === "true", id: answer.id as string }
}

it("tells persons apart, and who is not signed in from all of them", async () => {
  const name = newIdempotencyKey()
  const everybody = [company.ownerId, other, null]
  const firsts = []
  for (const one of everybody) firsts.push(await send(one, name))
  expect(firsts.map(({ status, isReplay }) => [status, isReplay])).toEqual([
    [200, false],
    [200, false],
    [200, false],
  ])
  expect(new Set(firsts.map(({ id }) => id)).size).toBe(3)
  for (const [i, one] of everybody.entries()) {
    expect(await send(one, name)).toEqual({ status: 200, isReplay: true, id: firsts[i]?.id })
  }
  // What another was sent with the same name is no other request of one's own.
  const changed = JSON.stringify({ to: newPhoneNumber(), body: "other words" })
  expect((await send(other, name, changed)).status).toBe(409)
  expect(await chargeAmountsOf(world, company)).toHaveLength(3)
})
