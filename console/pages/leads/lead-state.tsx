import type { Schema } from "../../api/company.ts"
import { Status } from "../../parts/status.tsx"

type Lead = Schema<"Lead">

/** What somebody is called who asked to be answered. */
export function nameOf({ firstName, lastName, email, phone }: Lead): string {
  const name = [firstName, lastName].filter((one) => one !== null).join(" ")
  return name === "" ? (email ?? phone ?? "Erased") : name
}

/** Whether a lead says nothing any more: each has an email or a phone number otherwise. */
export const isErased = ({ email, phone }: Lead): boolean => email === null && phone === null

/** How a lead stands. */
export function LeadState({ lead }: { readonly lead: Lead }) {
  if (isErased(lead)) return <Status tone="quiet">Erased</Status>
  if (lead.collectedAt === null) return <Status tone="busy">New</Status>
  return <Status tone="good">Collected</Status>
}
