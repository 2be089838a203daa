import { shellQuote } from "../api/operations.ts"
import { useMe } from "../api/session.ts"

/** Returns a function that builds command lines for this company: `bill list` with its arguments. */
export function useShellCommand(): (command: string, argumentText?: string) => string {
  const { company, companyId } = useMe()
  return (command, argumentText = "") =>
    `company-ledger ${command} --company ${shellQuote(company ?? companyId)} ${argumentText}`.trimEnd()
}
