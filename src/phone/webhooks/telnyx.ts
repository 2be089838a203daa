/**
 * What Telnyx calls back. Nothing is kept before it is decided: an event becomes commands, and whatever
 * could not be stored is answered so that it is told again.
 */
import type { CarrierEvent } from "../../../adapters/providers/carrier/port.ts"
import { Unavailable } from "../../../adapters/eventstore/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import { holderOf } from "../../../projections/phone/numbers.ts"
import { fieldOf } from "../../frame/routes/as-sent.ts"
import type { Webhook } from "../../frame/routes/declare/webhook.ts"
import { webhook } from "../../frame/routes/declare/webhook.ts"
import type { Ports } from "../../frame/ports.ts"
import { takeCame } from "../came-text.ts"
import { askAboutOrder } from "../reactions/buy-effect.ts"
import { companyOfText, takeNews } from "./text-news.ts"

/** Whoever tells waits for two seconds. */
const READ_MODELS_WAIT_MS = 1_500

/** What every address of it has in common. */
const told: Omit<Webhook<CarrierEvent>, "provider" | "url"> = {
  verify: async (ports, raw, sent) => {
    const call = { target: sent.target, header: (name: string) => fieldOf(sent, name), raw }
    const read = ports.carrier.read(call, ports.clock.now())
    if (read === "forged") return null
    const events = await Promise.all(
      read.events.map(async ({ id, event }) => {
        const companyId = await caughtUp(ports, event, () => companyOf(ports, event))
        return { id, companyId, event }
      }),
    )
    return { signedAt: read.signedAt, events }
  },
  commands: async (ports, companyId, event, cause) => {
    switch (event.is) {
      case "text_came": {
        const holder = await holderOf(ports.readAll, event.text.to)
        if (holder?.company_id === companyId) await takeCame(ports, holder, event.text, cause)
        return
      }
      case "text_news":
        return takeNews(ports, companyId, event, cause)
      case "order_news": {
        const numberId = parseNumberId(event.orderId)
        if (numberId !== null) await askAboutOrder(ports, { companyId, numberId }, cause)
        return
      }
    }
  },
}

/** Whose an event is, by what the read models know now. */
async function companyOf(ports: Ports, event: CarrierEvent): Promise<CompanyId | null> {
  switch (event.is) {
    case "text_came":
      return (await holderOf(ports.readAll, event.text.to))?.company_id ?? null
    case "text_news":
      return companyOfText(ports, event)
    case "order_news":
      return parseCompanyId(event.companyId)
  }
}

/**
 * Whose an event is. A number and a text may be a second old: what nobody knows is looked for again once
 * the read models have taken everything up to now.
 *
 * @throws Unavailable where they have not in time: whoever tells must come again
 */
async function caughtUp(
  ports: Ports,
  event: CarrierEvent,
  look: () => Promise<CompanyId | null>,
): Promise<CompanyId | null> {
  const known = await look()
  if (known !== null || event.is === "order_news") return known
  const head = await ports.store.head()
  const isThere = await ports.projector.waitFor(head, READ_MODELS_WAIT_MS, ["numbers", "messages"])
  if (!isThere) throw new Unavailable("the read models of texts are behind")
  return look()
}

/** Texts that come in and whatever has no address of its own; and the news of each text that went out. */
export const telnyxWebhooks = [
  webhook<CarrierEvent>({ provider: "telnyx", url: "/carriers/telnyx/texts", ...told }),
  webhook<CarrierEvent>({
    provider: "telnyxText",
    url: "/carriers/telnyx/texts/:textId/:mac",
    ...told,
  }),
]
