import { QueryClient } from "@tanstack/react-query"
import { RequestError } from "./request-error.ts"

export const queryClient: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // A rejection is final; a lost connection is retried once.
      retry: (times, error) => times < 1 && !(error instanceof RequestError && error.status > 0),
    },
  },
})
