/** What the embedded PostgreSQL calls itself (`cluster_name`): whoever connects knows it again. */
export const OWN_CLUSTER = "company-ledger embedded"

/** Where the embedded PostgreSQL keeps what is its own; every path is absolute. */
export interface Folder {
  readonly dataDir: string
  /** PostgreSQL's own data directory. */
  readonly cluster: string
  /** The superuser's password and the port, mode 0600. */
  readonly access: string
  readonly log: string
}
