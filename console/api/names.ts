import { useQuery } from "@tanstack/react-query"
import type { KeyList, LimitList, PersonList, PriceList } from "./answers.ts"
import { callOperation, useOperationQuery, useCanRun } from "./operations.ts"
import { useMe } from "./session.ts"

/** What people and keys are called, as far as the reader may know it. */
export interface Names {
  readonly person: (personId: string | null) => string
  readonly key: (keyId: string | null) => string
  /** Whose limit it is. */
  readonly holder: (limit: Pick<LimitList["limits"][number], "holder" | "holderId">) => string
  readonly people: readonly (readonly [string, string])[]
  readonly keys: readonly (readonly [string, string])[]
}

/** The names of the company's people and keys. */
export function useNames(): Names {
  const me = useMe()
  const seesPeople = useCanRun("person-list")
  const found = useOperationQuery<PersonList>("person-list", {}, seesPeople).data?.people ?? []
  const listed = useOperationQuery<KeyList>("key-list").data?.keys ?? []
  const people = new Map([[me.personId, me.name ?? me.email ?? "You"]])
  for (const { personId, name, email } of found) people.set(personId, name ?? email ?? personId)
  const keys = new Map(listed.map(({ keyId, label }) => [keyId, label ?? keyId]))
  const person: Names["person"] = (id) => (id === null ? "–" : (people.get(id) ?? id))
  const key: Names["key"] = (id) => (id === null ? "–" : (keys.get(id) ?? id))
  const holder: Names["holder"] = ({ holder: kind, holderId }) =>
    kind === "company"
      ? (me.company ?? "The company")
      : kind === "person"
        ? person(holderId)
        : `Key ${key(holderId)}`
  return { person, key, holder, people: [...people], keys: [...keys] }
}

let itemNames: ReadonlyMap<string, string> = new Map()

/** Has items of the price book be called as bills call them. Asked before pages are shown. */
export function useItemNames() {
  const { companyId } = useMe()
  return useQuery({
    // They are the installation's, and change with the program alone.
    queryKey: ["item names"],
    queryFn: async () => {
      const { prices } = await callOperation<PriceList>(companyId, "price-list")
      itemNames = new Map(prices.map(({ item, name }) => [item, name]))
      return itemNames
    },
    staleTime: Infinity,
  })
}

/** What an item is called: `text_segment` is `Text message segment`; the company's own by their ids in words. */
export function itemText(item: string): string {
  const words = item
    .replaceAll("_", " ")
    .replace(/\b(ai|api|sms|mms)\b/g, (word) => word.toUpperCase())
  return itemNames.get(item) ?? words.charAt(0).toUpperCase() + words.slice(1)
}
