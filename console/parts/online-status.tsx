import { Text } from "@mantine/core"
import type { PersonOnlineStatus } from "../api/team.ts"
import { StatusBadge } from "./status-badge.tsx"
import { Time } from "./time.tsx"

/** Whether a person is online, or when they were last seen. */
export function OnlineStatusBadge({
  presence,
}: {
  readonly presence: PersonOnlineStatus | undefined
}) {
  if (presence === undefined) return <>–</>
  const { online, onlineIn, lastSeenAt } = presence
  if (online) {
    return (
      <>
        <StatusBadge tone="good">Online</StatusBadge>{" "}
        <Text span size="sm" c="dimmed" visibleFrom="sm">
          in the {onlineIn.join(", ")}
        </Text>
      </>
    )
  }
  return lastSeenAt === null ? <>Never seen</> : <Time at={lastSeenAt} />
}
