import { useQuery } from "@tanstack/react-query"
import type { TeamMember } from "./answers.ts"
import type { Schema } from "./api-client.ts"
import { responseData, useApi } from "./api-client.ts"
import { useMe } from "./session.ts"

/** Who is online is asked again so often, ms. */
const POLL_INTERVAL_MS = 30_000

/** Where somebody is just now, or was last. */
export type PersonOnlineStatus = Pick<Schema<"Person">, "online" | "onlineIn" | "lastSeenAt">

/** Where each person of the company is, by their id. */
export function useOnlineStatuses(): ReadonlyMap<string, PersonOnlineStatus> {
  const { companyId } = useMe()
  const api = useApi()
  const found = useQuery({
    queryKey: [companyId, "people"],
    queryFn: () => responseData(api.GET("/api/v1/people")),
    refetchInterval: POLL_INTERVAL_MS,
  })
  return new Map((found.data?.people ?? []).map((person) => [person.id, person]))
}

/** What is asked for so that somebody holds these permissions, and no other. */
export function accessChange(
  { permissions, ofRole }: Pick<TeamMember, "permissions" | "ofRole">,
  chosen: readonly string[],
) {
  const more = chosen.filter((name) => !permissions.includes(name))
  const less = permissions.filter((name) => !chosen.includes(name))
  // What comes with the role is denied, or not any more; all else is granted, or not any more.
  return {
    grant: more.filter((name) => !ofRole.includes(name)),
    deny: less.filter((name) => ofRole.includes(name)),
    clear: [
      ...more.filter((name) => ofRole.includes(name)),
      ...less.filter((name) => !ofRole.includes(name)),
    ],
  }
}
