import { shellQuote } from "../api/operations.ts"
import { useMe } from "../api/session.ts"

/** Makes commands of the command line that are about this company: `bill list` and its other words. */
export function useShellCommand(): (command: string, words?: string) => string {
  const { company, companyId } = useMe()
  return (command, words = "") =>
    `company-ledger ${command} --company ${shellQuote(company ?? companyId)} ${words}`.trimEnd()
}
