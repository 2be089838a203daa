import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import type { World } from "../support/world.ts"

/** What a store holds, in global order, without its places: they are each store's own. */
export async function storedEventsOf(store: EventStore): Promise<Omit<StoredEvent, "position">[]> {
  const facts: Omit<StoredEvent, "position">[] = []
  for await (const page of store.readAll()) {
    facts.push(...page.map(({ position: _place, ...fact }) => fact))
  }
  return facts
}

/** What the audit of a world has to find fault with. */
export async function auditFaultsOf(world: World): Promise<unknown[]> {
  const audit = (await world.operate("audit verify")) as {
    readonly checks: readonly { readonly ok: boolean }[]
  }
  return audit.checks.filter((check) => !check.ok)
}
