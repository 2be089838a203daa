import { Text } from "@mantine/core"
import type { PushRecord, PushList } from "../api/code-answers.ts"
import type { Names } from "../api/names.ts"
import { useNames } from "../api/names.ts"
import { sizeText } from "./size-text.ts"
import type { TableColumn } from "./data-table.tsx"
import { DataTable } from "./data-table.tsx"
import { EmptyState } from "./empty-state.tsx"
import { PushStatusBadge } from "./push-status.tsx"
import { Time } from "./time.tsx"

/** A push in one line: its refs, or the reason of its refusal. */
function summaryText({ lines, status, code }: PushRecord): string {
  if (lines === null) return "Erased"
  if (status === "refused") return code === "secret" ? "Contains a secret" : (lines[0] ?? "")
  return lines.map((line) => line.replace(/^refs\/(heads|tags)\//, "")).join(", ")
}

/** The person and key of a push. */
export function pusherText({ personId, keyId }: PushRecord, names: Names): string {
  if (personId === null) return "The operator"
  return keyId === null
    ? names.person(personId)
    : `${names.person(personId)}, key ${names.key(keyId)}`
}

/** Pushes, newest first. */
export function PushTable({ pushes, next }: PushList) {
  const names = useNames()
  const columns: readonly TableColumn<PushRecord>[] = [
    { title: "When", cell: ({ at }) => <Time at={at} /> },
    { title: "Status", cell: ({ status }) => <PushStatusBadge status={status} /> },
    {
      title: "About",
      isHiddenOnNarrow: true,
      cell: (push) => (
        <Text size="sm" lineClamp={2} maw={420}>
          {summaryText(push)}
        </Text>
      ),
    },
    { title: "By", isHiddenOnNarrow: true, cell: (push) => pusherText(push, names) },
    {
      title: "Size",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ bytes, status }) => (status === "refused" ? "–" : sizeText(bytes)),
    },
  ]
  return (
    <DataTable
      label="Pushes"
      columns={columns}
      rows={pushes}
      next={next}
      rowKey={({ pushId }) => pushId}
      place={({ revision }) => ({ to: `code/${revision}` })}
      empty={
        <EmptyState
          title="No pushes yet"
          description="Pushes and uploads appear here, with the reasons of refusals."
          command="git push origin main"
        />
      }
    />
  )
}
