/** Every code that an answer of the program may have, and its status. */
import { STATUS_OF, errorOf, statusOf } from "../../src/frame/calls/refusal.ts"
import { PROGRAM } from "../../src/slices.ts"

/** The codes of all routes, behind them those of slices alone. */
export const STATUSES: Readonly<Record<string, number>> = {
  ...STATUS_OF,
  ...Object.fromEntries(
    PROGRAM.routes
      .flatMap(({ refuses = [] }) => refuses)
      .map((code) => [errorOf(code), statusOf(code)]),
  ),
}
