import { Status } from "./status.tsx"

/** Whether the protected core of an app is the release's. */
export function SealState({ seal }: { readonly seal: string | null }) {
  if (seal === "matches") return <Status tone="good">As released</Status>
  if (seal === "changed") return <Status tone="bad">Changed</Status>
  return <Status tone="quiet">Not known</Status>
}
