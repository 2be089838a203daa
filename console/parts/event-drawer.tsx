import { Drawer, Stack, Switch, Text } from "@mantine/core"
import { useState } from "react"
import type { EventList, StoredEvent } from "../api/audit-answers.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery } from "../api/operations.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { eventActor } from "./event-actor.ts"
import { EmptyState } from "./empty-state.tsx"
import { DetailList } from "./detail-list.tsx"
import { ErrorAlert } from "./error-alert.tsx"
import { useFilters } from "./filters.ts"
import { Id } from "./id.tsx"
import { QueryView } from "./query-view.tsx"
import { TextView } from "./text-view.tsx"
import { Time } from "./time.tsx"

/** The hash before the first event of a stream. */
const NO_HASH = "0".repeat(64)

interface EventDrawerProps {
  readonly stream: string
  readonly revision: number
}

/** The details of an event, with its actor and its place in the hash chain. */
export function EventDrawer({ stream, revision }: EventDrawerProps) {
  const [{ after }, setFilters] = useFilters()
  const [isOpened, setOpened] = useState(false)
  const from = Math.max(0, revision - 1)
  const range = { stream, from, limit: revision - from + 1 }
  const sealed = useOperationQuery<EventList>("audit-show", range)
  const inTheClear = useOperationQuery<EventList>(
    "audit-show",
    { ...range, unseal: true },
    isOpened,
  )
  return (
    <Drawer
      opened
      onClose={() => setFilters({ event: undefined, after })}
      position="right"
      size="lg"
      title={`Event ${revision}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {isOpened && inTheClear.error !== null ? <ErrorAlert error={inTheClear.error} /> : null}
      <QueryView query={sealed}>
        {(found) => {
          const { events } = isOpened ? (inTheClear.data ?? found) : found
          const event = events.find((one) => one.revision === revision)
          const before = events.find((one) => one.revision === revision - 1)
          return event === undefined ? (
            <EmptyState title="No such event" description="The stream ends before this revision." />
          ) : (
            <EventContent event={event} before={before} isOpened={isOpened} setOpened={setOpened} />
          )
        }}
      </QueryView>
    </Drawer>
  )
}

interface ShownProps {
  readonly event: StoredEvent
  readonly before: StoredEvent | undefined
  readonly isOpened: boolean
  readonly setOpened: (isOpened: boolean) => void
}

function EventContent({ event, before, isOpened, setOpened }: ShownProps) {
  const me = useMe()
  const names = useNames()
  const { type, at, data, metadata } = event
  const { id, hash, command, version, reason } = metadata
  return (
    <Stack>
      <DetailList
        items={[
          ["Event", type],
          ["When", <Time key="at" at={at} isWhole />],
          ["By", eventActor(metadata, names)],
          ...(reason === undefined ? [] : [["Reason", reason] as const]),
          ["Id", <Id key="id" id={id} />],
          ["Command", <Id key="command" id={command} />],
          ["Schema version", version],
        ]}
      />
      {isAdmin(me) ? (
        <Switch
          label="Show personal fields"
          description="Shows names, numbers and texts of people in clear text while their keys exist. Stored data does not change."
          checked={isOpened}
          onChange={({ currentTarget }) => setOpened(currentTarget.checked)}
        />
      ) : null}
      <TextView title="Data" text={JSON.stringify(data, null, 2)} />
      <TextView title="Hash" text={hash} />
      <Text size="sm" c="dimmed">
        The hash covers this event and the hash before it, so a change to any event changes every
        later hash.
      </Text>
      <TextView
        title={before === undefined ? "Previous: none, this is the first" : "Previous"}
        text={before?.metadata.hash ?? NO_HASH}
      />
      <Text size="sm" c="dimmed">
        Previous is the hash of the preceding event in this stream.
      </Text>
      <TextView title="Metadata" text={JSON.stringify(metadata, null, 2)} />
    </Stack>
  )
}
