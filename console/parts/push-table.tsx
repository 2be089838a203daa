import { Text } from "@mantine/core"
import type { Push, PushList } from "../api/code-answers.ts"
import type { Names } from "../api/names.ts"
import { useNames } from "../api/names.ts"
import { sizeText } from "./bytes.ts"
import type { Column } from "./data-table.tsx"
import { DataTable } from "./data-table.tsx"
import { Empty } from "./empty.tsx"
import { PushStatus } from "./push-status.tsx"
import { Time } from "./time.tsx"

/** What a push was about, in a line: its refs, or why it was refused. */
function aboutText({ lines, status, code }: Push): string {
  if (lines === null) return "Erased"
  if (status === "refused") return code === "secret" ? "A secret stands in it" : (lines[0] ?? "")
  return lines.map((line) => line.replace(/^refs\/(heads|tags)\//, "")).join(", ")
}

/** Who pushed. */
export function pusherText({ personId, keyId }: Push, names: Names): string {
  if (personId === null) return "The operator"
  return keyId === null
    ? names.person(personId)
    : `${names.person(personId)}, key ${names.key(keyId)}`
}

/** Pushes, the newest first. */
export function PushTable({ pushes, next }: PushList) {
  const names = useNames()
  const columns: readonly Column<Push>[] = [
    { title: "When", cell: ({ at }) => <Time at={at} /> },
    { title: "Status", cell: ({ status }) => <PushStatus status={status} /> },
    {
      title: "About",
      isWide: true,
      cell: (push) => (
        <Text size="sm" lineClamp={2} maw={420}>
          {aboutText(push)}
        </Text>
      ),
    },
    { title: "By", isWide: true, cell: (push) => pusherText(push, names) },
    {
      title: "Size",
      isNumber: true,
      isWide: true,
      cell: ({ bytes, status }) => (status === "refused" ? "–" : sizeText(bytes)),
    },
  ]
  return (
    <DataTable
      {...{ label: "Pushes", columns, rows: pushes, next }}
      rowKey={({ pushId }) => pushId}
      place={({ revision }) => ({ to: `code/${revision}` })}
      empty={
        <Empty
          title="Nothing was pushed yet"
          says="Each push and upload is listed here, and why some were refused."
          command="git push origin main"
        />
      }
    />
  )
}
