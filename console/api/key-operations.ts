/** Titles of the groups of operations, by the part of the name before the first dot. */
const GROUP_LABELS: Readonly<Record<string, string>> = {
  account: "Account",
  billing: "Billing",
  code: "Code and previews",
  connection: "Installed apps",
  crm: "Leads",
  dns: "Domains",
  email: "Email",
  hosting: "Web addresses",
  ledger: "Ledger",
  lookup: "Address lookups",
  phone: "Phone",
  sandbox: "Boxes",
  team: "Team",
}

/** Items of the price book that an operation is charged as. */
const CHARGED_ITEMS: Readonly<Record<string, readonly string[]>> = {
  "phone.messages.send": ["text_segment"],
  "phone.numbers.buy": ["number_month_local", "number_month_toll_free"],
  "email.send": ["email_recipient"],
  "code.publish.preview": ["deploy"],
  "lookup.address.suggest": ["address_suggestion"],
  "lookup.address.details": ["address_details"],
  "sandbox.start": [
    "box_minute_small",
    "box_minute_medium",
    "box_minute_large",
    "box_minute_xlarge",
  ],
  "phone.registration.submit": [
    "brand_fee_low_volume",
    "brand_fee_sole_proprietor",
    "brand_fee_standard",
    "campaign_fee",
    "campaign_rush",
  ],
}

export interface OperationGroup {
  readonly title: string
  readonly operations: readonly string[]
}

/** Groups operations by topic. */
export function groupOperations(operations: readonly string[]): readonly OperationGroup[] {
  const groups = Map.groupBy(operations, (name) => name.split(".")[0] ?? name)
  return [...groups].map(([prefix, found]) => ({
    title: GROUP_LABELS[prefix] ?? prefix,
    operations: found,
  }))
}

/** The items of an operation, in addition to the price of each call. */
export function chargedItemsOf(operation: string): readonly string[] {
  return CHARGED_ITEMS[operation] ?? []
}
