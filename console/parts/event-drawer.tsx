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

/** Before the first event of a stream there is none: its hash is over zeros. */
const NO_HASH = "0".repeat(64)

interface EventDrawerProps {
  readonly stream: string
  readonly revision: number
}

/** One event beside its stream: what it says, who caused it, and how it hangs on the one before. */
export function EventDrawer({ stream, revision }: EventDrawerProps) {
  const [{ after }, setFilters] = useFilters()
  const [isOpened, setOpened] = useState(false)
  const from = Math.max(0, revision - 1)
  const place = { stream, from, limit: revision - from + 1 }
  const sealed = useOperationQuery<EventList>("audit-show", place)
  const inTheClear = useOperationQuery<EventList>(
    "audit-show",
    { ...place, unseal: true },
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
            <EmptyState title="There is no such event" description="The stream ends before it." />
          ) : (
            <EventContent {...{ event, before, isOpened, setOpened }} />
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
          ["Version of its form", version],
        ]}
      />
      {isAdmin(me) ? (
        <Switch
          label="Open personal fields"
          description="Names, numbers and texts of people are shown in the clear here, as long as their keys are kept. Nothing stored changes."
          checked={isOpened}
          onChange={({ currentTarget }) => setOpened(currentTarget.checked)}
        />
      ) : null}
      <TextView title="Data" text={JSON.stringify(data, null, 2)} />
      <TextView title="Hash" text={hash} />
      <Text size="sm" c="dimmed">
        The hash is over this event and the hash before it: who changes anything changes every hash
        behind it.
      </Text>
      <TextView
        title={before === undefined ? "Previous: none, this is the first" : "Previous"}
        text={before?.metadata.hash ?? NO_HASH}
      />
      <Text size="sm" c="dimmed">
        Previous is the hash of the event right before it in this stream.
      </Text>
      <TextView title="Metadata" text={JSON.stringify(metadata, null, 2)} />
    </Stack>
  )
}
