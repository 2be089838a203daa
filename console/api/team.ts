import { useQuery } from "@tanstack/react-query"
import type { TeamMember } from "./answers.ts"
import type { Schema } from "./api-client.ts"
import { responseData, useApi } from "./api-client.ts"
import { useMe } from "./session.ts"

/** Interval of the online statuses, ms. */
const POLL_INTERVAL_MS = 30_000

export type PersonOnlineStatus = Pick<Schema<"Person">, "online" | "onlineIn" | "lastSeenAt">

/** The online status of each person, by id. */
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

/** The input that gives a person exactly these permissions. */
export function accessChange(
  { permissions, rolePermissions }: Pick<TeamMember, "permissions" | "rolePermissions">,
  chosen: readonly string[],
) {
  const more = chosen.filter((name) => !permissions.includes(name))
  const less = permissions.filter((name) => !chosen.includes(name))
  // Permissions of the role are denied or no longer denied; others are granted or no longer granted.
  return {
    grant: more.filter((name) => !rolePermissions.includes(name)),
    deny: less.filter((name) => rolePermissions.includes(name)),
    clear: [
      ...more.filter((name) => rolePermissions.includes(name)),
      ...less.filter((name) => !rolePermissions.includes(name)),
    ],
  }
}
