import { StatusBadge } from "./status-badge.tsx"

/** Whether the protected core of an app matches its release. */
export function SealStateBadge({ seal }: { readonly seal: string | null }) {
  if (seal === "matches") return <StatusBadge tone="good">As released</StatusBadge>
  if (seal === "changed") return <StatusBadge tone="bad">Changed</StatusBadge>
  return <StatusBadge tone="quiet">Not known</StatusBadge>
}
