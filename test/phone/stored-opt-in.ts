/** Stores opt-ins by form from a golden fact, because no route records them yet. */
import { readFileSync } from "node:fs"
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { type RecipientFact, recipientCodec } from "../../domain/phone/recipient-events.ts"
import { NO_HASH, causedBy, wrapFact } from "../../src/frame/kernel/envelope.ts"
import type { Company, World } from "../support/world.ts"

const GOLDEN = new URL("../golden/recipient/OptedInByForm.v1.json", import.meta.url)

/** Stores the golden fact for a recipient of a company, with personal data sealed under the recipient's key. */
export async function storeOptIn(
  { ports: { sealing, store } }: World,
  { companyId }: Pick<Company, "companyId">,
  phone: string,
  changed: Partial<RecipientFact<"OptedInByForm">> = {},
): Promise<void> {
  const golden = recipientCodec.decode("OptedInByForm", 1, readFileSync(GOLDEN, "utf8"))
  const tag = await sealing.tag(companyId, phone)
  const { stream } = recipientStreamOf(companyId, tag)
  const fact = {
    ...(golden as RecipientFact<"OptedInByForm">),
    phone: await sealing.seal(companyId, tag, phone),
    firstName: await sealing.seal(companyId, tag, "Ada"),
    ...changed,
  }
  const position = { stream, revision: 0, previousHash: NO_HASH }
  await store.append(
    stream,
    [wrapFact(recipientCodec, fact, position, causedBy("form")).proposed],
    NO_STREAM,
  )
}
