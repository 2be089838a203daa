import { Text } from "@mantine/core"
import type { Presence } from "../api/team.ts"
import { Status } from "./status.tsx"
import { Time } from "./time.tsx"

/** Whether somebody is there, or when they were seen last. */
export function Online({ presence }: { readonly presence: Presence | undefined }) {
  if (presence === undefined) return <>–</>
  const { online, onlineIn, lastSeenAt } = presence
  if (online) {
    return (
      <>
        <Status tone="good">Online</Status>{" "}
        <Text span size="sm" c="dimmed" visibleFrom="sm">
          in the {onlineIn.join(", ")}
        </Text>
      </>
    )
  }
  return lastSeenAt === null ? <>Never seen</> : <Time at={lastSeenAt} />
}
