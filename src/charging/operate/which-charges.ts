/** Which charges an operator means: by whom, for what, and of which class. */
import { z } from "zod"
import { ITEM_NAMES, itemCalled, itemNamed } from "../../../domain/charging/items.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { chargedItems, wasCharged } from "../../../projections/charging/charge-days.ts"
import type { ChargesAsked } from "../../../projections/charging/charge-lists.ts"
import { nearestName } from "../../frame/kernel/nearest.ts"
import { keyNamed, personNamed } from "../../frame/operator/inputs.ts"
import type { Asking } from "../../frame/operator/console-word.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"

/** So many of a company's own items are looked through for what was meant. */
const MOST_ITEMS = 1_000

/** The fields that say it. */
export const whichCharges = {
  key: z.string().optional().meta({ description: "only by this key, by id" }),
  person: z.string().optional().meta({ description: "only of this person, by id" }),
  item: z.string().optional().meta({ description: "only of this item" }),
}

type Which = z.infer<z.ZodObject<typeof whichCharges>>

/** The input, as it is about somebody's own spending: theirs, and that of their keys. */
export function ofOwnSpending<I extends { readonly person?: string | undefined }>({
  input,
  me,
}: Asking<I>): I | null {
  const { person = me.personId } = input
  return person === me.personId ? { ...input, person } : null
}

/** The same as queries ask for it. @throws OperatorRefused where nothing goes by such a name */
export async function chargesAsked(
  ports: Pick<AdminPorts, "readAll">,
  companyId: CompanyId,
  { key, person, item }: Which,
): Promise<Pick<ChargesAsked, "keyId" | "personId" | "item">> {
  return {
    keyId: key === undefined ? null : keyNamed(key),
    personId: person === undefined ? null : personNamed(person),
    item: item === undefined ? null : await findItem(ports, companyId, item),
  }
}

/**
 * An item by its name in the price book, on the bill or in a charge. What was charged under exactly
 * this name goes before what it may be short for.
 *
 * @throws OperatorRefused where nothing goes by it
 */
async function findItem(
  ports: Pick<AdminPorts, "readAll">,
  companyId: CompanyId,
  name: string,
): Promise<string> {
  if (await wasCharged(ports.readAll, companyId, name)) return name
  const item = itemNamed(name) ?? itemCalled(name)
  if (item !== null) return item
  const own = await chargedItems(ports.readAll, companyId, MOST_ITEMS)
  const nearest = nearestName(name, [...ITEM_NAMES, ...own])
  const meant = nearest === null ? '"price list" has those with a price.' : `Was ${nearest} meant?`
  throw new OperatorRefused("not_found", `There is no item "${name}". ${meant}`)
}
