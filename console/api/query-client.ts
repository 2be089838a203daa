import { QueryClient } from "@tanstack/react-query"
import { RequestError } from "./request-error.ts"

/** All that was asked, and is shown until it is asked again. */
export const queryClient: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // What the server refused it refuses again; only a cut line is tried once more.
      retry: (times, error) => times < 1 && !(error instanceof RequestError && error.status > 0),
    },
  },
})
