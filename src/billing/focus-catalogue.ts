/** What FOCUS calls the things that are sold: a service with its category, and a unit of price. */
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { unitOf } from "./units.ts"

/** A service: it has one category (FOCUS 1.2, `ServiceCategory`). */
interface FocusService {
  readonly name: string
  readonly category: string
}

const PHONE = { name: "Phone", category: "Integration" }
const REGISTRATION = { name: "Phone registration", category: "Management and Governance" }
const PLACES = { name: "Places", category: "Web" }
const AI = { name: "AI models", category: "AI and Machine Learning" }
const OTHER = { name: "Other services", category: "Other" }
const FUNDS = { name: "Funds", category: "Other" }

/** Services by the first word of an item's name. */
const SERVICES: Readonly<Record<string, FocusService>> = {
  box: { name: "Boxes", category: "Compute" },
  text: PHONE,
  call: PHONE,
  recording: PHONE,
  number: PHONE,
  email: { name: "Email", category: "Business Applications" },
  deploy: { name: "Publishing", category: "Developer Tools" },
  address: PLACES,
  api: { name: "API", category: "Integration" },
  brand: REGISTRATION,
  campaign: REGISTRATION,
}

/** The service that a line is for. */
export function serviceOf({ item, class: charged }: BillLine): FocusService {
  if (item === "") return FUNDS
  const word = item.split("_", 1)[0] ?? ""
  const known = Object.hasOwn(SERVICES, word) ? SERVICES[word] : undefined
  return known ?? (charged === "ai" ? AI : OTHER)
}

/** The unit that a price is for: capitalised and in the plural (FOCUS 1.2, "Unit Format"). */
export function pricingUnitOf(item: string): string {
  const unit = unitOf(item)
  return unit === "" ? "Units" : `${unit.charAt(0).toUpperCase()}${unit.slice(1)}s`
}
