import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"

interface CollectProps {
  readonly leads: readonly Schema<"Lead">[]
  readonly label: string
}

/** A button that marks leads as collected; hidden if all are. */
export function CollectLeadsButton({ leads, label }: CollectProps) {
  const ids = leads.filter(({ collectedAt }) => collectedAt === null).map(({ id }) => id)
  if (ids.length === 0) return null
  return (
    <ApiCallButton<Record<string, never>, { readonly collected: number }>
      label={label}
      title="Mark as collected"
      description={`${ids.length === 1 ? "This lead is" : `${ids.length} leads are`} marked as collected, and stay in the list.`}
      changeOf={() => ({ method: "POST", path: "/api/v1/leads", body: { collected: ids } })}
      submitLabel="Mark as collected"
      successMessage={({ collected }) => `Marked as collected: ${collected}.`}
    />
  )
}
