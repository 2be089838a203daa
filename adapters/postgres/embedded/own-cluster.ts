/** What the embedded PostgreSQL calls itself (`cluster_name`): whoever connects knows it again. */
export const OWN_CLUSTER = "company-ledger embedded"
