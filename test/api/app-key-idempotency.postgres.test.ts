/** Requests through the app key: each signed-in person has their own `Idempotency-Key` values. */
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

/** Sends a text with an idempotency key, signed in as a person or, with null, not signed in. */
async function send(personId: PersonId | null, idempotencyKey: string, sent = body) {
  const keyHeader = { "idempotency-key": idempotencyKey }
  const {
    status,
    headers,
    body: answer,
  } = personId === null
    ? await world.call(shared.key, "POST", MESSAGES_PATH, {
        body: sent,
        headers: { ...keyHeader, "content-type": "application/json" },
      })
    : await callWithAppKey(
        world,
        shared,
        { method: "POST", url: MESSAGES_PATH, body: sent, personId },
        keyHeader,
      )
  return { status, isReplay: headers["idempotency-replayed"] === "true", id: answer.id as string }
}

it("an idempotency key of the app key is separate for each person and for calls without a sign-in", async () => {
  const name = newIdempotencyKey()
  const callers = [company.ownerId, other, null]
  const firsts = []
  for (const caller of callers) firsts.push(await send(caller, name))
  expect(firsts.map(({ status, isReplay }) => [status, isReplay])).toEqual([
    [200, false],
    [200, false],
    [200, false],
  ])
  expect(new Set(firsts.map(({ id }) => id)).size).toBe(3)
  for (const [i, caller] of callers.entries()) {
    expect(await send(caller, name)).toEqual({ status: 200, isReplay: true, id: firsts[i]?.id })
  }
  // A conflict compares a request only with the same person's earlier request.
  const changed = JSON.stringify({ to: newPhoneNumber(), body: "other words" })
  expect((await send(other, name, changed)).status).toBe(409)
  expect(await chargeAmountsOf(world, company)).toHaveLength(3)
})
