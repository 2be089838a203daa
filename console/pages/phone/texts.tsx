import { Stack } from "@mantine/core"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { CopyAs, curlOf, curlOfChange } from "../../parts/copy-as.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { Loaded } from "../../parts/loaded.tsx"
import { Section } from "../../parts/page.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Time } from "../../parts/time.tsx"
import { OneLine } from "../../parts/one-line.tsx"
import { SendText } from "./send-text.tsx"
import { TEXT_STATUSES, TextStatus } from "./text-status.tsx"

type Message = Schema<"Message">

/** Texts in both directions, by the cursor of the address. */
export function useTexts() {
  const [{ before }] = useFilters()
  return useFound(["listMessages", before ?? ""], (api) =>
    api.GET("/api/v1/phone/messages", {
      params: { query: before === undefined ? {} : { cursor: before } },
    }),
  )
}

/** Who is at the other end of a text. */
export const otherOf = ({ direction, from, to }: Message): string | null =>
  direction === "in" ? from : to

/** Texts, the newest first. */
export function Texts() {
  const found = useTexts()
  return (
    <Section
      title="Texts"
      says="In both directions, the newest first."
      actions={
        <>
          <CopyAs what="curl" command={curlOf("/api/v1/phone/messages")} />
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
        <Loaded of={found} lines={8}>
          {({ messages, nextCursor }) => <List messages={messages} next={nextCursor ?? null} />}
        </Loaded>
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
  const columns: readonly Column<Message>[] = [
    { title: "With", cell: (text) => phoneText(otherOf(text)) },
    { title: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: "Direction",
      isWide: true,
      cell: (text) => (text.direction === "in" ? "Received" : "Sent"),
    },
    { title: "Text", isWide: true, cell: ({ body }) => <OneLine text={body ?? "Erased"} /> },
    { title: "Status", cell: (text) => <TextStatus text={text} /> },
  ]
  return (
    <DataTable
      {...{ label: "Texts", columns, rows, next }}
      rowKey={({ id }) => id}
      place={(text) => ({ to: `phone/texts/${encodeURIComponent(otherOf(text) ?? "erased")}` })}
      empty={
        <Empty
          title="No texts here"
          says="What you send, and what people text to your numbers, is listed here. A program sends one so:"
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
