import { describe, expect, it } from "vitest"

import { comparePositions, NO_STREAM } from "../../adapters/eventstore/port.ts"
import { anEvent, type Corner, followed, idsOf, someEvents } from "./event-store-fixture.ts"

/** What every event store promises to its subscribers. */
export function followingContract(here: () => Corner): void {
  handingOverContract(here)
  endingContract(here)
}

function handingOverContract(here: () => Corner): void {
  describe("subscribeAll", () => {
    it("hands over what is there, tells that this is all, then what comes", async () => {
      const { store, stream, before: after, prefix } = here()
      const [there, coming] = [someEvents(1_500), someEvents(20)]
      await store.append(stream("a"), there, NO_STREAM)
      const follower = followed(store, { after, prefixes: [prefix] })
      await follower.until(() => follower.heads.length > 0)
      expect(idsOf(follower.events)).toEqual(idsOf(there))
      expect(follower.heads[0]).toEqual(follower.events.at(-1)?.position)
      for (const [index, event] of coming.entries()) {
        await store.append(stream("b"), [event], index - 1)
      }
      await follower.until(() => follower.events.length === 1_520)
      expect(idsOf(follower.events)).toEqual(idsOf([...there, ...coming]))
      await follower.subscription.stop()
    })

    it("tells of a head without events, and of one that moved over events left out", async () => {
      const { store, stream, before: after } = here()
      const follower = followed(store, { after, prefixes: [stream("wanted")] })
      await follower.until(() => follower.heads.length > 0)
      const { position } = await store.append(stream("other"), someEvents(3), NO_STREAM)
      await follower.until(() => {
        const head = follower.heads.at(-1)
        return head !== undefined && comparePositions(head, position) >= 0
      })
      expect(follower.events).toEqual([])
      const wanted = anEvent()
      await store.append(stream("wanted"), [wanted], NO_STREAM)
      await follower.until(() => follower.events.length > 0)
      expect(idsOf(follower.events)).toEqual([wanted.id])
      await follower.subscription.stop()
    })

    it("goes on after any event without losing or doubling one", async () => {
      const { store, stream, before: after, prefix } = here()
      await store.append(stream("a"), someEvents(3), NO_STREAM)
      await store.append(stream("b"), someEvents(3), NO_STREAM)
      const whole = followed(store, { after, prefixes: [prefix] })
      await whole.until(() => whole.events.length === 6)
      for (const [index, { position }] of whole.events.entries()) {
        const rest = followed(store, { after: position, prefixes: [prefix] })
        await rest.until(() => rest.heads.length > 0)
        expect(rest.events).toEqual(whole.events.slice(index + 1))
        await rest.subscription.stop()
      }
      await whole.subscription.stop()
    })

    it("waits for the handler before it hands over more", async () => {
      const { store, stream, before: after, prefix } = here()
      let handlers = 0
      let most = 0
      const follower = followed(store, { after, prefixes: [prefix] }, async () => {
        handlers += 1
        most = Math.max(most, handlers)
        await store.head()
        handlers -= 1
      })
      await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          store.append(stream(String(index)), someEvents(40), NO_STREAM),
        ),
      )
      await follower.until(() => follower.events.length === 1_200)
      expect(most).toBe(1)
      const positions = follower.events.map(({ position }) => position)
      expect(positions.toSorted(comparePositions)).toEqual(positions)
      await follower.subscription.stop()
    })
  })
}

function endingContract(here: () => Corner): void {
  describe("subscribeAll, ended", () => {
    it("stops after the handler that runs, and hands over nothing more", async () => {
      const { store, stream, before: after, prefix } = here()
      const entered = Promise.withResolvers<void>()
      const leave = Promise.withResolvers<void>()
      const follower = followed(store, { after, prefixes: [prefix] }, async () => {
        entered.resolve()
        await leave.promise
      })
      await store.append(stream(), someEvents(2), NO_STREAM)
      await entered.promise
      const order: string[] = []
      const stopped = follower.subscription.stop().then(() => order.push("stopped"))
      await store.append(stream("b"), someEvents(1), NO_STREAM)
      order.push("left")
      leave.resolve()
      await stopped
      await follower.subscription.ended
      expect(order).toEqual(["left", "stopped"])
      expect(follower.events.every((event) => event.stream === stream())).toBe(true)
    })

    it("stops while nothing happens, and twice", async () => {
      const { store, prefix } = here()
      const follower = followed(store, { prefixes: [prefix] })
      await follower.until(() => follower.heads.length > 0)
      await follower.subscription.stop()
      await follower.subscription.stop()
      await expect(follower.subscription.ended).resolves.toBeUndefined()
    })

    it("ends with what the handler throws, and hands over nothing more", async () => {
      const { store, stream, before: after, prefix } = here()
      let calls = 0
      const follower = followed(store, { after, prefixes: [prefix] }, async () => {
        calls += 1
        throw new Error("poison")
      })
      const ended = expect(follower.subscription.ended).rejects.toThrow("poison")
      await store.append(stream(), someEvents(1), NO_STREAM)
      await ended
      await store.append(stream(), someEvents(1), 0)
      const other = followed(store, { after, prefixes: [prefix] })
      await other.until(() => other.events.length === 2)
      expect(calls).toBe(1)
      await follower.subscription.stop()
      await other.subscription.stop()
    })

    it("ends when the store is closed", async () => {
      const { store, prefix } = here()
      const follower = followed(store, { prefixes: [prefix] })
      await store.close()
      await expect(follower.subscription.ended).resolves.toBeUndefined()
      expect(follower.interruptions).toEqual([])
    })
  })
}
