/** Who knows addresses: suggestions while somebody types, and the address of the one that was picked. */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { ProviderUnavailable } from "../provider-errors.ts"

/** A place that may be meant. */
export interface PlaceSuggestion {
  /** What `details` is asked with: up to 1,000 characters. */
  readonly placeId: string
  /** Street and number, or what stands for them. */
  readonly main: string
  /** Where that is. */
  readonly secondary: string
}

/** An address. What of it is not known is empty, never absent. */
export interface PlaceAddress {
  readonly line1: string
  readonly city: string
  readonly state: string
  readonly zip: string
  /** Two letters (ISO 3166-1). */
  readonly country: string
  /** Degrees. */
  readonly lat: number
  readonly lng: number
  /** The whole in one line. */
  readonly formatted: string
}

/** Who looks something up. The provider is told neither of the company nor of its key. */
export interface PlaceLookup {
  readonly companyId: CompanyId
  /** The suggestions that lead to one pick, and the pick: a UUID. */
  readonly session: string
}

/** A provider of addresses. Its calls change nothing, so what went wrong may be asked again. */
export interface PlacesProvider {
  /** Whether it bills suggestions and their pick as one: only then sessions are worth telling apart. */
  readonly hasSessions: boolean
  /** Up to five places for what was typed so far. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly suggest: (input: string, lookUp: PlaceLookup) => Promise<readonly PlaceSuggestion[]>
  /** The address of a place; null where there is no such place. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly findAddress: (placeId: string, lookUp: PlaceLookup) => Promise<PlaceAddress | null>
}

/** It refused what we asked it: a fault of our settings or of this program, that nobody mends by waiting. */
export class PlacesMisconfigured extends ProviderUnavailable {}

/** So many places are suggested at most. */
export const MAX_SUGGESTIONS = 5
