import { Status } from "./status.tsx"

/** Whether a month is over. */
export function BillState({ state }: { readonly state: "open" | "closed" }) {
  return state === "open" ? <Status tone="busy">Open</Status> : <Status tone="good">Closed</Status>
}
