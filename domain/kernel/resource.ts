/**
 * The resource of a charge: the id of the thing that was paid for, followed by `@` and its location if the id alone
 * does not locate it.
 */

const LOCATED_RESOURCE = /^([a-z]+_\w+)@(.*)$/s

/** Names a thing that can only be found by its location. */
export function locatedResource(id: string, location: string): string {
  return `${id}@${location}`
}

/** Splits a resource into id and location; null if it has no location. */
export function parseLocatedResource(
  resource: string,
): { readonly id: string; readonly location: string } | null {
  const [, id, location] = LOCATED_RESOURCE.exec(resource) ?? []
  return id === undefined || location === undefined ? null : { id, location }
}

/** Returns the resource without its location, as the company sees it. */
export function resourceId(resource: string): string {
  return parseLocatedResource(resource)?.id ?? resource
}
