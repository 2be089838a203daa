/**
 * Stripe's customer portal, opened where the payment method is changed. The one that is added there becomes
 * the customer's default, which payments are taken from.
 */
import type { Stripe } from "stripe"
import type { CardPages } from "./port.ts"
import { heard } from "./stripe-faults.ts"
import { readCustomer } from "./stripe-intents.ts"

/** Opens them. It calls nobody before the first page. */
export function openStripePages(stripe: Stripe): CardPages {
  return {
    customerOf: async (companyId, formerId) => {
      const former = formerId === null ? null : await readCustomer(stripe, formerId)
      if (former !== null) return former.id
      const params = { description: companyId, metadata: { company: companyId } }
      // Two who ask for it at once get the same one; after one that is gone there is another.
      const after = formerId === null ? "" : `-after-${formerId}`
      const idempotencyKey = `customer-${companyId}${after}`
      return (await heard("POST", stripe.customers.create(params, { idempotencyKey }))).id
    },
    open: async (customerId, returnTo) => {
      const asked = stripe.billingPortal.sessions.create({
        customer: customerId,
        return_url: returnTo,
        flow_data: { type: "payment_method_update" },
      })
      return (await heard("POST", asked)).url
    },
    cardSince: async (customerId) => {
      const customer = await readCustomer(stripe, customerId)
      const method = customer?.invoice_settings.default_payment_method ?? null
      return method === null || typeof method === "string" ? null : method.created * 1_000
    },
  }
}
