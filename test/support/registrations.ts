/** Submissions for tests of registries, and Telnyx's registry with its simulated server. */
import { openTelnyxRegistry } from "../../adapters/providers/registry/telnyx.ts"
import type {
  SubmissionReference,
  BusinessSubmission,
  CampaignSubmission,
  NumberRegistration,
  Registry,
  ReviewedBusiness,
  ReviewedCampaign,
} from "../../adapters/providers/registry/port.ts"
import type { TelnyxServer } from "./telnyx-server.ts"
import { startTelnyx } from "./telnyx-server.ts"
import type { SigningAccount } from "./telnyx-signing.ts"
import { signingAccount } from "./telnyx-signing.ts"

export const REVIEWED_BUSINESS: ReviewedBusiness = {
  legalName: "Acme Bakery LLC",
  brandName: "Acme Bakery",
  entityType: "llc",
  ein: "123456789",
  industry: "RETAIL",
  website: "https://acme.example",
  street: "1 Main St",
  street2: null,
  city: "Austin",
  region: "tx",
  postalCode: "78701-1234",
  country: "US",
  repFirstName: "Ada",
  repLastName: "Lovelace",
  repEmail: "ada@acme.example",
  repPhone: "+15125550123",
  repTitle: null,
  repPosition: null,
  stockExchange: null,
  stockTicker: null,
}

export const SOLE_PROPRIETOR_BUSINESS: ReviewedBusiness = {
  ...REVIEWED_BUSINESS,
  entityType: "sole_proprietor",
  ein: null,
}

export const REVIEWED_CAMPAIGN: ReviewedCampaign = {
  description: "Acme Bakery texts customers who agreed to it about orders and pick-ups.",
  messageFlow: "People agree at https://acme.example/texts, by ticking an empty, optional box.",
  samples: [
    "Acme Bakery: It is ready. Reply STOP to opt out.",
    "Acme Bakery: See https://acme.example/x.",
  ],
  hasLinks: true,
  hasPhone: false,
  directLending: false,
  offers: false,
  mostMonthly: 4,
  optInMessage: "You are subscribed.",
  optOutMessage: "You are opted out.",
  helpMessage: "Write to help@acme.example.",
  optInUrl: "https://acme.example/texts",
  privacyUrl: "https://acme.example/privacy",
  termsUrl: "https://acme.example/terms",
}

let count = 0

/** A submission of a business with a new id. */
export function newBusinessSubmission(
  changed: Partial<BusinessSubmission> = {},
): BusinessSubmission {
  count += 1
  return {
    submissionId: `reg_${count}`,
    companyId: "co_1",
    part: "business",
    isTest: false,
    ref: null,
    brandName: "Acme Bakery",
    correctedRef: null,
    brandType: "low_volume",
    business: REVIEWED_BUSINESS,
    ...changed,
  }
}

/** A submission of a campaign with a new id. */
export function newCampaignSubmission(
  businessRef: string,
  changed: Partial<CampaignSubmission> = {},
): CampaignSubmission {
  const { submissionId, companyId, isTest, brandName, brandType } = newBusinessSubmission()
  return {
    submissionId,
    companyId,
    isTest,
    brandName,
    brandType,
    part: "campaign",
    ref: null,
    correctedRef: null,
    businessRef,
    business: REVIEWED_BUSINESS,
    campaign: REVIEWED_CAMPAIGN,
    ...changed,
  }
}

/** A registration of a new number in a campaign. */
export function newNumberRegistration(
  campaignRef: string,
  changed: Partial<NumberRegistration> = {},
): NumberRegistration {
  count += 1
  return {
    numberId: `num_${count}`,
    companyId: "co_1",
    number: `+1415555${2000 + count}`,
    kind: "local",
    isTest: false,
    campaignRef,
    business: REVIEWED_BUSINESS,
    campaign: REVIEWED_CAMPAIGN,
    ...changed,
  }
}

/** The reference by which a submission's status is queried. */
export const submissionQueryOf = (
  { submissionId, companyId, part, isTest, brandName }: SubmissionReference,
  ref: string | null = null,
): SubmissionReference => ({ submissionId, companyId, part, isTest, brandName, ref })

/** The registry's reference of an accepted submission. @throws Error if it was not accepted */
export function acceptedReferenceIn(answer: {
  readonly answer: string
  readonly ref?: string
}): string {
  if (answer.ref === undefined) throw new Error(`the registry did not accept it: ${answer.answer}`)
  return answer.ref
}

/** Telnyx's registry with its simulated server and the account that signs webhooks. */
export interface TelnyxRegistryFixture {
  readonly registry: Registry
  readonly server: TelnyxServer
  readonly account: SigningAccount
  /** The bodies of all requests of a call, such as `POST /10dlc/brand`. */
  readonly sent: (call: string) => readonly Record<string, unknown>[]
  /** The newest record of a kind. @throws Error if there is none */
  readonly newest: (
    kind: "brands" | "campaigns" | "assignments" | "verifications",
  ) => Record<string, unknown>
}

/** Opens the registry; the caller closes its server. */
export async function openTelnyxRegistryFixture(): Promise<TelnyxRegistryFixture> {
  const server = await startTelnyx()
  const account = signingAccount()
  const registry = openTelnyxRegistry({
    key: server.key,
    publicKey: account.publicKey,
    url: server.url,
    baseUrl: () => "https://ledger.test",
    keyedHash: (text) => Buffer.from(text.padStart(16, "_")).toString("hex").slice(-32),
  })
  const sent = (call: string) =>
    server.requests.filter((one) => one.call === call).map(({ body }) => body)
  const newest: TelnyxRegistryFixture["newest"] = (kind) => {
    const found = server.registry[kind].at(-1)
    if (found === undefined) throw new Error(`there are no ${kind}`)
    return found
  }
  return { registry, server, account, sent, newest }
}
