/**
 * Stripe's customer portal, opened where the payment method is changed. The one that is added there becomes
 * the customer's default, which payments are taken from.
 */
import { Stripe } from "stripe"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { ProviderUnavailable } from "../outside.ts"
import type { CardPages } from "./port.ts"
import { heard } from "./stripe-faults.ts"

/** Opens them. It calls nobody before the first page. */
export function openStripePages(stripe: Stripe): CardPages {
  return {
    open: async (companyId, returnTo) => {
      const customer = await customerOf(stripe, companyId)
      const asked = stripe.billingPortal.sessions.create({
        ...{ customer, return_url: returnTo },
        flow_data: { type: "payment_method_update" },
      })
      return (await heard(asked.catch(told))).url
    },
    cardSince: async (companyId) => {
      const expand = ["invoice_settings.default_payment_method"]
      const id = await customerOf(stripe, companyId)
      const customer = await heard(stripe.customers.retrieve(id, { expand }))
      if (customer.deleted === true) return null
      const method = customer.invoice_settings.default_payment_method
      return method === null || typeof method === "string" ? null : method.created * 1_000
    },
  }
}

/** The customer whose metadata names a company; null where none is found: one just made is found a minute later. */
export async function findCustomer(
  stripe: Stripe,
  companyId: CompanyId,
): Promise<Stripe.Customer | null> {
  const query = `metadata['company']:'${companyId}'`
  const { data } = await heard(stripe.customers.search({ query, limit: 1 }))
  return data[0] ?? null
}

/**
 * The company's customer, made where there is none. Until a search finds it, making it again under the same
 * key names the same one.
 */
async function customerOf(stripe: Stripe, companyId: CompanyId): Promise<string> {
  const found = await findCustomer(stripe, companyId)
  if (found !== null) return found.id
  const params = { description: companyId, metadata: { company: companyId } }
  const idempotencyKey = `customer-${companyId}`
  return (await heard(stripe.customers.create(params, { idempotencyKey }))).id
}

/** What Stripe has against a page is for the operator to read: its portal has to be set up there, once. */
function told(error: unknown): never {
  if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error
  const reason = error.message.replace(/\.$/, "")
  throw new ProviderUnavailable(`Stripe opened no page: ${reason}`, { cause: error })
}
