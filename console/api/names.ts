import { useQuery } from "@tanstack/react-query"
import type { KeyList, LimitList, PersonList, PriceList } from "./answers.ts"
import { callOperation, useOperationQuery, useCanRun } from "./operations.ts"
import { useMe } from "./session.ts"

/** Names of people and keys, as far as the reader may know them. */
export interface Names {
  readonly person: (personId: string | null) => string
  readonly key: (keyId: string | null) => string
  /** Name of a limit's holder. */
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

/** Loads the names of items; pages wait for them. */
export function useItemNames() {
  const { companyId } = useMe()
  return useQuery({
    // Names are the same for all companies, and change only with the program.
    queryKey: ["item names"],
    queryFn: async () => {
      const { prices } = await callOperation<PriceList>(companyId, "price-list")
      itemNames = new Map(prices.map(({ item, name }) => [item, name]))
      return itemNames
    },
    staleTime: Infinity,
  })
}

/** The name of an item: `text_segment` is `Text message segment`; a company's own item is named by its id. */
export function itemText(item: string): string {
  const words = item
    .replaceAll("_", " ")
    .replace(/\b(ai|api|sms|mms)\b/g, (word) => word.toUpperCase())
  return itemNames.get(item) ?? words.charAt(0).toUpperCase() + words.slice(1)
}
