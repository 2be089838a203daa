import { useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import createClient from "openapi-fetch"
import { CONSOLE_HEADERS } from "./console-request.ts"
import type { components, paths } from "./document.d.ts"
import { RequestError, noResponseError } from "./request-error.ts"
import { useMe } from "./session.ts"

/** What the API's document calls a thing. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name]

/** Every route of the API, by the session, at one company. */
function clientOf(companyId: string) {
  return createClient<paths>({ baseUrl: `/console/${companyId}`, headers: CONSOLE_HEADERS })
}

/** The API, as whoever looks at the page. */
export function useApi(): ReturnType<typeof clientOf> {
  const { companyId } = useMe()
  return useMemo(() => clientOf(companyId), [companyId])
}

interface ApiResult<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/** What an answer says. @throws Refused */
export async function responseData<T>(asked: Promise<ApiResult<T>>): Promise<NonNullable<T>> {
  const answered = await asked.catch(() => null)
  if (answered === null) throw noResponseError()
  const { data, error, response } = answered
  if (response.ok && data !== undefined && data !== null) return data
  const body = typeof error === "object" && error !== null ? { ...error } : {}
  throw new RequestError(response.status, body, response.headers)
}

/**
 * What a route of the API answers: asked once, shown until something changes.
 *
 * @param key tells apart what is asked: the route's name, and what it is given
 */
export function useApiQuery<T>(
  key: readonly unknown[],
  ask: (api: ReturnType<typeof clientOf>) => Promise<ApiResult<T>>,
  isWanted = true,
) {
  const { companyId } = useMe()
  const api = useApi()
  return useQuery({
    queryKey: [companyId, "api", ...key],
    queryFn: () => responseData(ask(api)),
    enabled: isWanted,
  })
}
