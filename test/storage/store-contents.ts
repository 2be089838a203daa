import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import type { World } from "../support/world.ts"

/** All events of a store in global order, without their positions, which differ between stores. */
export async function storedEventsOf(store: EventStore): Promise<Omit<StoredEvent, "position">[]> {
  const facts: Omit<StoredEvent, "position">[] = []
  for await (const page of store.readAll()) {
    facts.push(...page.map(({ position: _position, ...fact }) => fact))
  }
  return facts
}

/** The failed checks of a world's audit. */
export async function auditFaultsOf(world: World): Promise<unknown[]> {
  const audit = (await world.operate("audit verify")) as {
    readonly checks: readonly { readonly ok: boolean }[]
  }
  return audit.checks.filter((check) => !check.ok)
}
