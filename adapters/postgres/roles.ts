/** The role that API reads run as: it owns no table, so row-level security binds it. */
export const API_ROLE = "company_ledger_api"

/** The setting that says which company's rows the API's role may see. */
export const COMPANY_SETTING = "ledger.company"
