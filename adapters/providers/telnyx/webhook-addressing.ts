/** Inputs of the addresses of Telnyx webhooks. Each address contains our ids with a keyed hash. */
export interface WebhookAddressing {
  /** The public address of this service, without a trailing slash. */
  readonly baseUrl: () => string
  /** A keyed hash of the installation, 32 hexadecimal characters. */
  readonly keyedHash: (text: string) => string
}
