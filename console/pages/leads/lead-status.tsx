import type { Schema } from "../../api/api-client.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"

type Lead = Schema<"Lead">

/** The name of a lead. */
export function leadName({ firstName, lastName, email, phone }: Lead): string {
  const name = [firstName, lastName].filter((one) => one !== null).join(" ")
  return name === "" ? (email ?? phone ?? "Erased") : name
}

/** Whether a lead is erased: every other lead has an email or a phone number. */
export const isLeadErased = ({ email, phone }: Lead): boolean => email === null && phone === null

/** The status of a lead. */
export function LeadStatusBadge({ lead }: { readonly lead: Lead }) {
  if (isLeadErased(lead)) return <StatusBadge tone="quiet">Erased</StatusBadge>
  if (lead.collectedAt === null) return <StatusBadge tone="busy">New</StatusBadge>
  return <StatusBadge tone="good">Collected</StatusBadge>
}
