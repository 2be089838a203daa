import type { Schema } from "../../api/api-client.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"

type Lead = Schema<"Lead">

/** What somebody is called who asked to be answered. */
export function leadName({ firstName, lastName, email, phone }: Lead): string {
  const name = [firstName, lastName].filter((one) => one !== null).join(" ")
  return name === "" ? (email ?? phone ?? "Erased") : name
}

/** Whether a lead says nothing any more: each has an email or a phone number otherwise. */
export const isLeadErased = ({ email, phone }: Lead): boolean => email === null && phone === null

/** How a lead stands. */
export function LeadStatusBadge({ lead }: { readonly lead: Lead }) {
  if (isLeadErased(lead)) return <StatusBadge tone="quiet">Erased</StatusBadge>
  if (lead.collectedAt === null) return <StatusBadge tone="busy">New</StatusBadge>
  return <StatusBadge tone="good">Collected</StatusBadge>
}
