import { useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import createClient from "openapi-fetch"
import { CONSOLE_HEADERS } from "./console-request.ts"
import type { components, paths } from "./document.d.ts"
import { RequestError, noResponseError } from "./request-error.ts"
import { useMe } from "./session.ts"

/** A schema of the API document. */
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name]

/** All API routes, with the session, at one company. */
function clientOf(companyId: string) {
  return createClient<paths>({ baseUrl: `/console/${companyId}`, headers: CONSOLE_HEADERS })
}

/** The API, as the reader. */
export function useApi(): ReturnType<typeof clientOf> {
  const { companyId } = useMe()
  return useMemo(() => clientOf(companyId), [companyId])
}

interface ApiResult<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/** The data of an answer. @throws RequestError */
export async function responseData<T>(request: Promise<ApiResult<T>>): Promise<NonNullable<T>> {
  const result = await request.catch(() => null)
  if (result === null) throw noResponseError()
  const { data, error, response } = result
  if (response.ok && data !== undefined && data !== null) return data
  const body = typeof error === "object" && error !== null ? { ...error } : {}
  throw new RequestError(response.status, body, response.headers)
}

/**
 * Queries an API route, and caches the answer until something changes.
 *
 * @param key identifies the query: the route's name and its parameters
 */
export function useApiQuery<T>(
  key: readonly unknown[],
  call: (api: ReturnType<typeof clientOf>) => Promise<ApiResult<T>>,
  isEnabled = true,
) {
  const { companyId } = useMe()
  const api = useApi()
  return useQuery({
    queryKey: [companyId, "api", ...key],
    queryFn: () => responseData(call(api)),
    enabled: isEnabled,
  })
}
