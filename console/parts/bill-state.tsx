import { StatusBadge } from "./status-badge.tsx"

/** Whether a month is over. */
export function BillStateBadge({ state }: { readonly state: "open" | "closed" }) {
  return state === "open" ? (
    <StatusBadge tone="busy">Open</StatusBadge>
  ) : (
    <StatusBadge tone="good">Closed</StatusBadge>
  )
}
