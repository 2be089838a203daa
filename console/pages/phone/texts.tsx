import { Stack } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { CopyCommandButton, curlOf, curlOfChange } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { QueryView } from "../../parts/query-view.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Time } from "../../parts/time.tsx"
import { TruncatedText } from "../../parts/truncated-text.tsx"
import { SendText } from "./send-text.tsx"
import { TEXT_STATUSES, TextStatusBadge } from "./text-status.tsx"

type Message = Schema<"Message">

/** Texts in both directions, at the cursor of the address. */
export function useTexts() {
  const [{ before }] = useFilters()
  return useApiQuery(["listMessages", before ?? ""], (api) =>
    api.GET("/api/v1/phone/messages", {
      params: { query: before === undefined ? {} : { cursor: before } },
    }),
  )
}

/** The other number of a text. */
export const otherParty = ({ direction, from, to }: Message): string | null =>
  direction === "in" ? from : to

/** Texts, newest first. */
export function Texts() {
  const found = useTexts()
  return (
    <Section
      title="Texts"
      description="In both directions, newest first."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf("/api/v1/phone/messages")} />
          <SendText />
        </>
      }
    >
      <Stack>
        <FilterBar
          filters={[
            {
              name: "direction",
              label: "Direction",
              options: [
                ["out", "Sent"],
                ["in", "Received"],
              ],
            },
            { name: "status", label: "Status", options: TEXT_STATUSES },
          ]}
        />
        <QueryView query={found} lines={8}>
          {({ messages, nextCursor }) => <List messages={messages} next={nextCursor ?? null} />}
        </QueryView>
      </Stack>
    </Section>
  )
}

function List({
  messages,
  next,
}: {
  readonly messages: readonly Message[]
  readonly next: string | null
}) {
  const [{ direction, status }] = useFilters()
  const rows = messages
    .filter((one) => direction === undefined || one.direction === direction)
    .filter((one) => status === undefined || one.status === status)
    .toReversed()
  const columns: readonly TableColumn<Message>[] = [
    { title: "With", cell: (text) => phoneText(otherParty(text)) },
    { title: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: "Direction",
      isHiddenOnNarrow: true,
      cell: (text) => (text.direction === "in" ? "Received" : "Sent"),
    },
    {
      title: "Text",
      isHiddenOnNarrow: true,
      cell: ({ body }) => <TruncatedText text={body ?? "Erased"} />,
    },
    { title: "Status", cell: (text) => <TextStatusBadge text={text} /> },
  ]
  return (
    <DataTable
      label="Texts"
      columns={columns}
      rows={rows}
      next={next}
      rowKey={({ id }) => id}
      place={(text) => ({ to: `phone/texts/${encodeURIComponent(otherParty(text) ?? "erased")}` })}
      empty={
        <EmptyState
          title="No texts"
          description="Texts to and from your numbers appear here. Programs send a text with:"
          command={curlOfChange({
            method: "POST",
            path: "/api/v1/phone/messages",
            body: { to: "+14155550123", body: "Hello" },
          })}
        />
      }
    />
  )
}
