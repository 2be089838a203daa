import { StatusBadge } from "./status-badge.tsx"

/** Whether the month of a bill is closed. */
export function BillStateBadge({ state }: { readonly state: "open" | "closed" }) {
  return state === "open" ? (
    <StatusBadge tone="busy">Open</StatusBadge>
  ) : (
    <StatusBadge tone="good">Closed</StatusBadge>
  )
}
