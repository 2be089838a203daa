/** Provides addresses: suggestions while a person types, and the address of the picked one. */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { ProviderUnavailable } from "../provider-errors.ts"

export interface PlaceSuggestion {
  /** The id for `findAddress`, up to 1,000 characters. */
  readonly placeId: string
  /** Street and number, or another name of the place. */
  readonly main: string
  /** The place's city and region. */
  readonly secondary: string
}

/** An address. Unknown parts are empty strings. */
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
  /** The address in one line. */
  readonly formatted: string
}

/** The context of a lookup. The provider receives neither the company nor its key. */
export interface PlaceLookup {
  readonly companyId: CompanyId
  /** A UUID that groups suggestions with the pick they lead to. */
  readonly session: string
}

/** A provider of addresses. Its calls change nothing, so they can be retried. */
export interface PlacesProvider {
  /** Whether the provider bills suggestions and their pick together, so that sessions matter. */
  readonly hasSessions: boolean
  /**
   * Suggests up to five places for the text typed so far. @throws ProviderUnavailable,
   * ProviderOutcomeUnknown
   */
  readonly suggest: (input: string, lookUp: PlaceLookup) => Promise<readonly PlaceSuggestion[]>
  /**
   * The address of a place; null if there is no such place. @throws ProviderUnavailable,
   * ProviderOutcomeUnknown
   */
  readonly findAddress: (placeId: string, lookUp: PlaceLookup) => Promise<PlaceAddress | null>
}

/**
 * The provider refused a request: the settings or this program are wrong, and a retry does not
 * help.
 */
export class PlacesMisconfigured extends ProviderUnavailable {}

/** Maximum number of suggestions. */
export const MAX_SUGGESTIONS = 5
